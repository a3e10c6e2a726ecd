import PostriderNotifications
import RelayFixtures
import Testing

@Suite("The headers traceparent and tracestate")
struct TraceContextHeaderTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func context(_ fields: [(String, String)]) throws -> TraceContext? {
        try Provider.shared.admit(Provider.shared.fields() + fields).get().traceContext
    }

    @Test("are taken on with the push; several fields tracestate count as one")
    func valid() throws {
        #expect(try context([]) == nil)
        #expect(try context([("traceparent", Self.parent)]) == TraceContext(parent: Self.parent))
        let both = [
            ("tracestate", "a=1, b=2"), ("traceparent", Self.parent), ("tracestate", ""),
            ("tracestate", "c=3"),
        ]
        #expect(try context(both) == TraceContext(parent: Self.parent, state: "a=1,b=2,c=3"))
        #expect(try context([("traceparent", Self.parent), ("tracestate", "a")])?.state == nil)
    }

    @Test(
        "are ignored if they are not valid, and the push is accepted all the same",
        arguments: [
            [("traceparent", "")], [("traceparent", "nonsense")], [("tracestate", "a=1")],
            [("traceparent", parent), ("traceparent", parent)],
            [("traceparent", parent + "-"), ("tracestate", "a=1")],
            [("traceparent", "\u{0}\u{ff}"), ("tracestate", "\u{0}")],
        ])
    func invalid(_ fields: [(String, String)]) throws { #expect(try context(fields) == nil) }
}
