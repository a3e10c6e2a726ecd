import PostriderNotifications
import PostriderWeb

extension RequestHead {
    /// The trace context of the sender. As with pushes of providers, an invalid one, or two of them, count as none.
    var traceContext: TraceContext? {
        guard let parent = self["traceparent"] else { return nil }
        return TraceContext(parent: parent, state: values(of: "tracestate").joined(separator: ","))
    }
}
