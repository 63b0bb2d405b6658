// Package dashboard is the operator's pages: what is wrong, what came in, why
// a delivery waits, and the buttons that repair it.
//
// # Guarantees
//
// Every page is made on the server and works without scripts; the script adds
// live figures, local times and the chart. Whatever senders and downstreams
// said is shown as text, bounded, with control characters made visible. No
// page holds an inline script or style, and every answer carries a content
// security policy that forbids them.
//
// Only an operator sees anything: the token is exchanged for a signed cookie
// that scripts cannot read, that other sites cannot send, and that ends after
// [SessionFor], at logout and at a restart. A change needs a request of the
// same origin and the session's own form token. Redirects lead to pages of
// this package and nowhere else.
//
// # Vocabulary
//
// A visit is a request of somebody who is logged in. A page is what a visit
// shows, a change is a POST that does something and then leads to a page. The
// verdict is the first sentence of the overview.
//
// # Example
//
//	pages, err := dashboard.New(dashboard.Config{
//		Tokens: tokens, Events: store, Bodies: store, Deliveries: store,
//		Queues: store, Operator: store, Destinations: dispatcher,
//		Waiting: dispatch.Waiting,
//	})
//
// The files under assets/uplot are the chart library uPlot 1.6.32 as its
// authors publish it, with its licence.
package dashboard
