/// An answer of the operator's interface: a status and a JSON body.
struct ControlAnswer: Sendable {
    var status: Int
    var body: [UInt8]
    /// One sentence about what is missing, such as what a node of the cluster that has not answered knows; nil if
    /// nothing is. It is a field of the answer's head, because a list has no other place for it.
    var gap: String?

    init(_ status: Int, _ body: [UInt8], gap: String? = nil) {
        self.status = status
        self.body = body
        self.gap = gap
    }

    /// The answer to a request that has nothing to tell.
    static let done = ControlAnswer(200, Array("{}".utf8))
    /// The name of the field that has ``gap``.
    static let gapField = "postrider-incomplete"
}
