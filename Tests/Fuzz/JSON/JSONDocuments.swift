import Foundation
import PostriderJSON
import PostriderNotifications

/// JSON documents, judged by our code and by Foundation. Each difference must have one of these reasons.
///
/// Foundation refuses escaped lone surrogates and numbers beyond a Double, which RFC 8259 allows. It accepts a comma
/// before a closing bracket, a byte order mark, other encodings than UTF-8, and deeper nesting than ours.
enum JSONDocuments {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        let ours = JSONSyntax.isObject(input.span)
        try read(input, ours)
        // Foundation takes these bytes for another encoding.
        guard !input.prefix(4).contains(0), !input.starts(with: [0xFE, 0xFF]),
            !input.starts(with: [0xFF, 0xFE])
        else {
            try hold(!ours, "a document in another encoding than UTF-8 is taken")
            return
        }
        do {
            let isObject = try JSONSerialization.jsonObject(with: Data(input)) is [String: Any]
            if isObject != ours { try excuse(input, ours) }
        } catch let error as Contradiction {
            throw error
        } catch {
            guard ours else { return }
            let reason = (error as NSError).userInfo["NSDebugDescription"] as? String ?? "\(error)"
            let isExcused = reason.contains("not representable") || hasLoneSurrogate(input)
            try hold(isExcused, "what we take Foundation refuses: \(reason)")
        }
    }

    /// Checks that a document can be read if and only if its syntax is accepted, and that its value, written again,
    /// is read as the same value.
    private static func read(_ input: [UInt8], _ isAccepted: Bool) throws(Contradiction) {
        guard let members = JSONValue.members(ofObject: input.span) else {
            return try hold(!isAccepted, "what the syntax accepts cannot be read")
        }
        try hold(isAccepted, "what the syntax refuses is read")
        let written = JSONValue.object(members).bytes ?? []
        try hold(
            JSONValue.members(ofObject: written.span) == members, "what is written is read as another value")
    }

    /// Whether a syntactically valid document has an escaped lone surrogate.
    private static func hasLoneSurrogate(_ document: [UInt8]) -> Bool {
        var index = 0
        /// The place where the escape must begin that completes a pair.
        var due: Int?
        while index < document.count {
            guard document[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            let isUnicode = document[index + 1] == UInt8(ascii: "u")
            let digits = isUnicode ? String(decoding: document[index + 2..<index + 6], as: UTF8.self) : ""
            let unit = UInt16(digits, radix: 16) ?? 0
            let isLow = UTF16.isTrailSurrogate(unit)
            if isLow != (due == index) || due.map({ $0 < index }) == true { return true }
            index += isUnicode ? 6 : 2
            due = UTF16.isLeadSurrogate(unit) ? index : nil
        }
        return due != nil
    }

    /// Checks a document that Foundation accepts as an object and we refuse. Without commas before brackets, we must
    /// accept it as well.
    private static func excuse(_ input: [UInt8], _ ours: Bool) throws(Contradiction) {
        try hold(!ours, "what we take is no object to Foundation")
        let (plain, depth) = withoutLooseCommas(
            input.starts(with: [0xEF, 0xBB, 0xBF]) ? input.dropFirst(3) : input[...])
        guard depth <= Limits.jsonDepth else { return }
        try hold(JSONSyntax.isObject(plain.span), "what Foundation takes we refuse")
    }

    /// Returns the document without the commas that only white space separates from a closing bracket, and its depth.
    private static func withoutLooseCommas(_ document: ArraySlice<UInt8>) -> ([UInt8], depth: Int) {
        var result: [UInt8] = []
        var (depth, deepest) = (0, 0)
        var (isInString, isEscaped) = (false, false)
        /// The place in the result of a comma that may be followed by a closing bracket.
        var comma: Int?
        for byte in document {
            if isInString {
                (isInString, isEscaped) = (
                    isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
                )
            } else {
                switch byte {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    (depth, deepest) = (depth + 1, max(deepest, depth + 1))
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    if let comma { result.remove(at: comma) }
                case UInt8(ascii: "\""): isInString = true
                default: break
                }
                if byte == UInt8(ascii: ",") {
                    comma = result.count
                } else if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) {
                    comma = nil
                }
            }
            result.append(byte)
        }
        return (result, deepest)
    }
}
