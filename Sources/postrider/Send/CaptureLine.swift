import FoundationEssentials
import PostriderCommands

/// A capture as a line of JSON (docs/reference/captures.md), with its payload as the provider sent it.
struct CaptureLine {
    /// The payload's bytes; nil if the body is not a JSON object.
    let payload: [UInt8]?
    /// The object without the payload.
    let members: [UInt8]

    /// Splits a line.
    ///
    /// - Throws: `DecodingError` if its payload is not a JSON object.
    init(_ line: [UInt8]) throws {
        // The payload is the last member. Quotes in other members are escaped, so the first match is its name.
        let name = Array(#","payload":"#.utf8)
        let start = line.indices.first { line[$0...].starts(with: name) }
        guard let start, line.last == UInt8(ascii: "}") else {
            (payload, members) = (nil, line)
            return
        }
        let payload = line[(start + name.count)...].dropLast()
        guard payload.first == UInt8(ascii: "{"), payload.last == UInt8(ascii: "}") else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no JSON object"))
        }
        self.payload = Array(payload)
        members = Array(line[..<start]) + [UInt8(ascii: "}")]
    }

    /// Reads the other members.
    func decode<Members: Decodable>(_ type: Members.Type) throws -> Members {
        try JSONDecoder().decode(type, from: Data(members))
    }
}
