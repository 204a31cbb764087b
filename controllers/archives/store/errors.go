// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"
)

// status is the HTTP status of the answer of a store; 0 if the error is none.
func status(err error) int {
	var s3 interface{ HTTPStatusCode() int }
	var gcs *googleapi.Error
	var azure *azcore.ResponseError
	switch {
	case errors.As(err, &s3):
		return s3.HTTPStatusCode()
	case errors.As(err, &gcs):
		return gcs.Code
	case errors.As(err, &azure):
		return azure.StatusCode
	default:
		return 0
	}
}

// isNotFound reports whether the store says that there is no such object. gcsblob reports a missing permission as NotFound too:
// https://github.com/google/go-cloud/blob/v0.47.0/blob/gcsblob/gcsblob.go#L632.
func isNotFound(err error) bool {
	s := status(err)
	return gcerrors.Code(err) == gcerrors.NotFound && (s == 0 || s == http.StatusNotFound)
}

// IsDenied reports whether a store says that the credentials lack a permission.
func IsDenied(err error) bool {
	var s3 interface{ ErrorCode() string }
	if errors.As(err, &s3) {
		return s3.ErrorCode() == "AccessDenied" // 403 has other causes too
	}
	s := status(err)
	return s == http.StatusUnauthorized || s == http.StatusForbidden || errors.Is(err, fs.ErrPermission) || gcerrors.Code(err) == gcerrors.PermissionDenied
}

// isRefused reports whether the store understood a deletion and refuses it. Stores use different answers for object lock: 403 (S3,
// Google Cloud Storage), 400 (MinIO), 409 (Azure), 412 (a lease of Azure).
func isRefused(err error) bool {
	switch s := status(err); s {
	case 0:
		code := gcerrors.Code(err)
		return errors.Is(err, fs.ErrPermission) || code == gcerrors.PermissionDenied || code == gcerrors.FailedPrecondition
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return http.StatusBadRequest <= s && s < http.StatusInternalServerError
	}
}
