// SPDX-License-Identifier: Apache-2.0

package history

// OpenOn opens a Store on a fake disk.
var OpenOn = open

// File is a file on a fake disk.
type File = file
