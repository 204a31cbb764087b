// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// isTrue reads a parameter that settings.ParseURL has checked.
func isTrue(q url.Values, name string) bool {
	value, _ := strconv.ParseBool(q.Get(name))
	return value
}

func openS3(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error) {
	q := u.Query()
	pathStyle := isTrue(q, "use_path_style")
	o := s3blob.Options{EncryptionType: types.ServerSideEncryption(q.Get("ssetype")), KMSEncryptionID: q.Get("kmskeyid")}
	if len(c) > 0 && q.Has("role") {
		return nil, errors.New("a role is assumed with the default credentials; remove role from url, or the Secret")
	}
	for _, name := range []string{"use_path_style", "ssetype", "kmskeyid"} { // the rest is for the next call
		q.Del(name)
	}
	config, err := gcaws.V2ConfigFromURLParams(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(c) > 0 {
		if c.get(awsKeyID) == "" || c.get(awsSecret) == "" {
			return nil, missing(awsKeyID + " or no " + awsSecret)
		}
		config.Credentials = awscredentials.NewStaticCredentialsProvider(c.get(awsKeyID), c.get(awsSecret), c.get(awsSession))
	}
	o.RequestChecksumCalculation = config.RequestChecksumCalculation
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = pathStyle })
	return s3blob.OpenBucket(ctx, client, u.Host, &o)
}

func openGCS(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error) {
	q := u.Query()
	client := gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())
	if !isTrue(q, "anonymous") {
		var err error
		if client, err = gcsClient(ctx, c); err != nil {
			return nil, err
		}
	}
	var o gcsblob.Options
	if endpoint := q.Get("endpoint"); endpoint != "" {
		o.ClientOptions = []option.ClientOption{option.WithEndpoint(strings.TrimSuffix(endpoint, "/") + "/storage/v1/")}
	}
	return gcsblob.OpenBucket(ctx, client, u.Host, &o)
}

// gcsClient has the credentials of a service account, or the default ones. Other kinds of JSON files are refused, since they can name
// files and URLs.
func gcsClient(ctx context.Context, c credentials) (*gcp.HTTPClient, error) {
	ctx = context.WithoutCancel(ctx) // tokens are fetched later
	var found *google.Credentials
	var err error
	if len(c) == 0 {
		found, err = gcp.DefaultCredentials(ctx)
	} else if found, err = google.CredentialsFromJSONWithType(ctx, c[googleJSON], google.ServiceAccount, "https://www.googleapis.com/auth/devstorage.read_write"); err != nil {
		err = errors.New(googleJSON + " in the Secret is not the JSON key of a service account")
	}
	if err != nil {
		return nil, err
	}
	return gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(found))
}

func openAzure(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error) {
	q := u.Query()
	o := azureblob.ServiceURLOptions{AccountName: cmp.Or(q.Get("storage_account"), c.get(azureAccount)), StorageDomain: q.Get("domain"),
		Protocol: q.Get("protocol"), IsLocalEmulator: isTrue(q, "localemu"), SASToken: strings.TrimPrefix(c.get(azureSAS), "?")}
	if o.AccountName == "" {
		return nil, errors.New("url has no storage_account")
	}
	service, err := azureblob.NewServiceURL(&o)
	if err != nil {
		return nil, err
	}
	at, err := url.JoinPath(string(service), u.Host)
	if err != nil {
		return nil, errors.New("storage_account or domain is not valid")
	}
	client, err := azureClient(at, o.AccountName, c)
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

func azureClient(at, account string, c credentials) (*container.Client, error) {
	switch {
	case c.get(azureKey) != "":
		key, err := container.NewSharedKeyCredential(account, c.get(azureKey))
		if err != nil {
			return nil, errors.New(azureKey + " in the Secret is not a key of a storage account")
		}
		return container.NewClientWithSharedKeyCredential(at, key, nil)
	case c.get(azureSAS) != "":
		return container.NewClientWithNoCredential(at, &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: withoutURLs{}}})
	case len(c) > 0:
		return nil, missing(azureKey + " and no " + azureSAS)
	default:
		identity, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return nil, err
		}
		return container.NewClient(at, identity, nil)
	}
}

// withoutURLs sends requests. Its errors do not contain the URL, which has the shared access signature.
type withoutURLs struct{}

func (withoutURLs) Do(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(r)
	if with := new(url.Error); errors.As(err, &with) {
		err = with.Err
	}
	return answer, err
}
