package history

// OpenOn opens a Store on a disk of the test's own.
var OpenOn = open

// File is what a disk of a test creates.
type File = file
