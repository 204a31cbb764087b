// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reference says where objects of a kind have references with a field kind.
type reference struct {
	from schema.GroupVersionKind
	list string // CEL: a list of values that contain the reference
	at   string // the path of the reference in each value, with a final dot; empty if the value is the reference
	kind string // of a reference without a kind
}

func (r reference) to(kind schema.GroupKind) Reference {
	const names = `(%[1]s).map(r, r.?%[2]skind.orValue('%[3]s') == '%[4]s',
		{'name': r.?%[2]sname.orValue(''), 'namespace': r.?%[2]snamespace.orValue('')})`
	return Reference{From: r.from, To: kind, Names: fmt.Sprintf(names, r.list, r.at, r.kind, kind.Kind)}
}

const (
	ofBackends     = `object.?spec.rules.orValue([]).map(r, r.?http.paths.orValue([])).flatten()`
	ofClientConfig = `object.?webhooks.orValue([]).map(w, {'name': w.?clientConfig.service.name.orValue(''), 'namespace': w.?clientConfig.service.namespace.orValue('')})`
)

// ofNetwork returns the references of Ingresses, of EndpointSlices, of the API server's webhooks, and of selectors for Pods.
func ofNetwork() []Reference {
	ingress, class := v1(networkGroup, "Ingress"), v1(networkGroup, "IngressClass")
	all := []Reference{
		{From: ingress, To: secret, Names: `object.?spec.tls.orValue([]).map(t, t.?secretName.orValue(''))`},
		{From: ingress, To: service, Names: ofBackends + `.map(p, p.?backend.service.name.orValue('')) + [object.?spec.defaultBackend.service.name.orValue('')]`},
		{From: ingress, To: ingressClass, Names: `[object.?spec.ingressClassName.orValue(''), object.metadata.?annotations[?'kubernetes.io/ingress.class'].orValue('')]`},
		// Only a user writes an EndpointSlice, or Endpoints that are mirrored to one, for a Service without a selector.
		{From: v1("discovery.k8s.io", "EndpointSlice"), To: service,
			Names: `object.metadata.?labels[?'endpointslice.kubernetes.io/managed-by'].orValue('') == 'endpointslice-controller.k8s.io' ? []
				: [object.metadata.?labels[?'kubernetes.io/service-name'].orValue('')]`},
		{From: v1(admissionGroup, "ValidatingWebhookConfiguration"), To: service, Names: ofClientConfig},
		{From: v1(admissionGroup, "MutatingWebhookConfiguration"), To: service, Names: ofClientConfig},
		{From: v1("apiregistration.k8s.io", "APIService"), To: service,
			Names: `[{'name': object.?spec.service.name.orValue(''), 'namespace': object.?spec.service.namespace.orValue('')}]`},
		{From: v1("apiextensions.k8s.io", "CustomResourceDefinition"), To: service,
			Names: `[object.?spec.conversion.webhook.clientConfig.service].map(s, {'name': s.?name.orValue(''), 'namespace': s.?namespace.orValue('')})`},
		{From: v1("", "Service"), To: Pod, Selector: `object.?spec.selector.orValue({}) == {} ? dyn(null) : dyn({'matchLabels': object.spec.selector})`},
		{From: v1("policy", "PodDisruptionBudget"), To: Pod, Selector: `object.?spec.selector.orValue(null)`},
		{From: v1(networkGroup, "NetworkPolicy"), To: Pod, Selector: `object.?spec.podSelector.orValue({})`},
	}
	for _, to := range []schema.GroupKind{configMap, secret} {
		all = append(all,
			reference{ingress, ofBackends, "backend.resource.", ""}.to(to),
			reference{ingress, `[object.?spec.defaultBackend.resource]`, "", ""}.to(to),
			reference{class, `[object.?spec.parameters]`, "", ""}.to(to))
	}
	return all
}

const (
	ofListeners = `object.?spec.listeners.orValue([]).map(l, l.?tls.certificateRefs.orValue([])).flatten()`
	ofGateway   = ofListeners + `
		+ object.?spec.listeners.orValue([]).map(l, l.?tls.frontendValidation.caCertificateRefs.orValue([])).flatten()
		+ object.?spec.tls.frontend.perPort.orValue([]).map(p, p.?tls.validation.caCertificateRefs.orValue([])).flatten()
		+ object.?spec.tls.frontend.default.validation.caCertificateRefs.orValue([])
		+ [object.?spec.tls.backend.clientCertificateRef, object.?spec.backendTLS.clientCertificateRef, object.?spec.infrastructure.parametersRef]`
)

// ofGateways returns the references of the Gateway API.
func ofGateways() []Reference {
	gateways, classes, tls := v1(gatewayGroup, "Gateway"), v1(gatewayGroup, "GatewayClass"), v1(gatewayGroup, "BackendTLSPolicy")
	listeners := []schema.GroupVersionKind{v1(gatewayGroup, "ListenerSet"), {Group: "gateway.networking.x-k8s.io", Version: "v1alpha1", Kind: "XListenerSet"}}
	all := []Reference{
		{From: gateways, To: gatewayClass, Names: `[object.?spec.gatewayClassName.orValue('')]`},
		reference{tls, `object.?spec.targetRefs.orValue([])`, "", ""}.to(service),
	}
	for _, from := range listeners {
		all = append(all, reference{from, `[object.?spec.parentRef]`, "", "Gateway"}.to(gateway))
	}
	for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"} {
		route := v1(gatewayGroup, kind)
		all = append(all,
			reference{route, `object.?spec.rules.orValue([]).map(r, r.?backendRefs.orValue([])).flatten()`, "", "Service"}.to(service),
			reference{route, `object.?spec.rules.orValue([]).map(r, r.?filters.orValue([])).flatten()`, "requestMirror.backendRef.", "Service"}.to(service),
			reference{route, `object.?spec.parentRefs.orValue([])`, "", "Gateway"}.to(gateway))
	}
	for _, to := range []schema.GroupKind{configMap, secret} {
		all = append(all,
			reference{gateways, ofGateway, "", "Secret"}.to(to),
			reference{classes, `[object.?spec.parametersRef]`, "", ""}.to(to),
			reference{tls, `object.?spec.validation.caCertificateRefs.orValue([])`, "", ""}.to(to))
		for _, from := range listeners {
			all = append(all, reference{from, ofListeners, "", "Secret"}.to(to))
		}
	}
	return all
}
