/// Checks that a relay's frames to a provider have the form that clients rely on (section 1.5 of the contract):
/// SETTINGS first, one answer per stream, and no empty DATA.
struct AnswerFrames {
    private enum Answer {
        case headers
        case ended
    }

    /// The first violation.
    private(set) var broken: String?
    private var answers: [UInt32: Answer] = [:]
    private var hasBegun = false

    /// Removes complete frames from the front and checks them.
    mutating func read(_ bytes: inout [UInt8]) {
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 9 + length else { break }
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(9 + length)
            if let sentence = judge(kind: head[3], flags: head[4], stream: stream, length: length) {
                broken = broken ?? "\(sentence) (stream \(stream))"
            }
        }
        // Each flush must consist of complete frames.
        if !rest.isEmpty { broken = broken ?? "a frame is sent in part" }
        bytes.removeAll(keepingCapacity: true)
    }

    /// Returns the violation of a frame (RFC 9113, section 6); nil if there is none.
    private mutating func judge(kind: UInt8, flags: UInt8, stream: UInt32, length: Int) -> String? {
        defer { hasBegun = true }
        let ends = flags & 1 != 0
        if !hasBegun, kind != 4 || ends { return "the first frame is not SETTINGS" }
        guard length <= 16_384 else { return "a frame of \(length) bytes" }
        switch kind {
        case 0:
            guard answers[stream] == .headers else { return "DATA without HEADERS, or after the end" }
            guard length > 0 else { return "an empty DATA frame" }
            if ends { answers[stream] = .ended }
        case 1:
            guard answers[stream] == nil else { return "a second answer" }
            answers[stream] = ends ? .ended : .headers
        case 3: answers[stream] = .ended
        case 4, 6, 7, 8: return nil
        default: return "a frame of kind \(kind), which a relay never sends"
        }
        return nil
    }
}
