extension JSONValue {
    /// The value as JSON, with members in the order of their names; nil if a number in it is infinite or NaN.
    ///
    /// ``members(ofObject:)`` reads the same value from it, because a whole `Double` is written with a fraction
    /// (`2.0`).
    public var bytes: [UInt8]? {
        var output: [UInt8] = []
        return write(to: &output) ? output : nil
    }

    private func write(to output: inout [UInt8]) -> Bool {
        switch self {
        case .null: output += "null".utf8
        case .boolean(let value): output += (value ? "true" : "false").utf8
        case .integer(let value): output += "\(value)".utf8
        case .unsigned(let value): output += "\(value)".utf8
        case .double(let value):
            guard value.isFinite else { return false }
            // Swift writes the shortest text from which the same number is read, which is always valid JSON.
            output += "\(value)".utf8
        case .string(let text): Self.write(text, to: &output)
        case .array(let elements):
            var separator = UInt8(ascii: "[")
            for element in elements {
                output.append(separator)
                separator = UInt8(ascii: ",")
                guard element.write(to: &output) else { return false }
            }
            if elements.isEmpty { output.append(separator) }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            var separator = UInt8(ascii: "{")
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                output.append(separator)
                separator = UInt8(ascii: ",")
                Self.write(name, to: &output)
                output.append(UInt8(ascii: ":"))
                guard value.write(to: &output) else { return false }
            }
            if members.isEmpty { output.append(separator) }
            output.append(UInt8(ascii: "}"))
        }
        return true
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x0A: output += "\\n".utf8
            case 0x0D: output += "\\r".utf8
            case 0x09: output += "\\t".utf8
            case 0x08: output += "\\b".utf8
            case 0x0C: output += "\\f".utf8
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                output += "\\u00\(byte < 16 ? "0" : "")\(digits)".utf8
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
