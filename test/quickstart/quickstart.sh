#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The steps of docs/quickstart.md in a cluster. Run it in the root directory of the repository:
#
#   test/quickstart/quickstart.sh          all steps, in a new kind cluster: needs kind, docker, kubectl and helm
#   test/quickstart/quickstart.sh try      only the steps after the installation, in the current context of kubectl
set -euo pipefail

install() {
  kind create cluster
  docker build -f .ci/Dockerfile --target sunset-controller -t sunset-controller:dev .
  kind load docker-image sunset-controller:dev
  helm install sunset charts/sunset --namespace sunset-system --create-namespace --wait \
    --set image.repository=sunset-controller --set image.tag=dev --set-json 'rbac.kinds={"jobs.batch":{}}'
}

try() {
  kubectl apply -f samples/quickstart/policy.yaml
  kubectl create job hello --image=busybox -- true
  kubectl wait --for=condition=complete job/hello --timeout=5m
  kubectl wait --for=jsonpath='{.status.due.now}'=1 clusterretentionpolicy/quickstart --timeout=3m
  kubectl get clusterretentionpolicy quickstart
  kubectl get job hello # a dry run deletes nothing
  kubectl patch clusterretentionpolicy quickstart --type=merge -p '{"spec":{"mode":"Enforce"}}'
  kubectl wait --for=delete job/hello --timeout=3m
  kubectl wait --for=jsonpath='{.status.deleted}'=1 clusterretentionpolicy/quickstart --timeout=3m
  kubectl delete clusterretentionpolicy quickstart
}

case "${1-all}" in
all) install && try ;;
try) try ;;
*) sed -n '3,7s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
