// SPDX-License-Identifier: Apache-2.0

package archive

import _ "github.com/parquet-go/parquet-go" // until the code uses it
