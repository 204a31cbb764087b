package policy

// Standing is what ranking makes of a member. The zero value is neither.
type Standing struct{ Newest, Excess bool }
