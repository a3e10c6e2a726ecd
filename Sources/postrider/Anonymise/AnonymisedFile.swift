import FoundationEssentials
import PostriderCommands

/// A file of captures in which other values take the place of those that tell about people, devices and apps
/// (docs/reference/captures.md).
struct AnonymisedFile {
    /// The text of the file, which ends with a line break.
    let text: String

    /// Anonymises lines of JSON, as `postrider captures --lines` prints them, or an HTTP Archive.
    ///
    /// - Parameters:
    ///   - file: the name of the file in errors.
    ///   - key: a secret. Nobody who has not got it can try out which value got a replacement.
    /// - Throws: ``CommandFailure`` for a file without captures, and for a line that is no capture.
    init(
        _ text: String, file: String, key: [UInt8], _ choice: RequestReplacements.Choice
    ) throws(CommandFailure) {
        let pseudonyms = Pseudonyms(key: key, reserved: PayloadReplacements.reservedNames)
        let request = RequestReplacements(pseudonyms, choice)
        if RequestArchive.isArchive(text) {
            let made = JSONRewriter.rewrite(Array(text.utf8), with: ArchiveReplacements(request)) ?? []
            self.text = String(decoding: made, as: UTF8.self) + (made.last == 0x0A ? "" : "\n")
            return
        }
        var output = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            guard let made = Self.anonymised(Array(line.utf8), request) else {
                throw CommandFailure(
                    "\(file):\(index + 1): this line is no capture: write such a file with 'postrider "
                        + "captures --lines' or 'postrider captures --har'.", exitCode: 2)
            }
            output += String(decoding: made, as: UTF8.self) + "\n"
        }
        guard !output.isEmpty else {
            throw CommandFailure(
                "\(file) has no captures: write it with 'postrider captures --lines'.", exitCode: 2)
        }
        self.text = output
    }

    /// What every capture has.
    private struct Members: Decodable {
        struct Field: Decodable {
            let name: String
            let value: String
        }

        let at: Int64
        let bodyBytes: Int
        let headers: [Field]
    }

    /// A line with its replacements; nil if it is no capture.
    private static func anonymised(_ line: [UInt8], _ request: RequestReplacements) -> [UInt8]? {
        guard let parts = try? CaptureLine(line), (try? parts.decode(Members.self)) != nil,
            let members = JSONRewriter.rewrite(parts.members, with: CaptureReplacements(request))
        else { return nil }
        guard let payload = parts.payload else { return members }
        guard let made = JSONRewriter.rewrite(payload, with: request.payload) else { return nil }
        return members.dropLast() + Array(#","payload":"#.utf8) + made + [UInt8(ascii: "}")]
    }
}
