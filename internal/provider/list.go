package provider

import (
	"context"

	"evergate/internal/fault"
)

// List asks for the first page of the model list with one credential, by name, for whoever wants to know whether the provider
// answers (R75); nil: it gave the list. Like Models it makes one exchange and no second one.
func (c *Client) List(ctx context.Context, credential string) *fault.Fault {
	i := c.credential(credential)
	if i < 0 && len(c.auth) > 0 { // chosen from a newer configuration's list
		return &fault.Fault{Class: fault.Next, Message: "the credential is not configured any more"}
	}
	list := c.list()
	body, f := c.get(ctx, list.Path, max(i, 0))
	if f != nil {
		return f
	}
	if _, _, err := list.Read(body); err != nil {
		return c.unreadable(err)
	}
	return nil
}
