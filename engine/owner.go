package engine

// ownerReferenceOf is the owner reference with controller true, or nil. The API server allows one at most.
func ownerReferenceOf(object map[string]any) map[string]any {
	list, _ := mapOf(object, "metadata")["ownerReferences"].([]any)
	for _, entry := range list {
		owner, _ := entry.(map[string]any)
		if isController, _ := owner["controller"].(bool); isController {
			return owner
		}
	}
	return nil
}
