import PostriderCaptures
import PostriderCommands
import PostriderCrypto
import PostriderNotifications

/// The replacements of values. A value has the same replacement each time, and it has the value's length.
///
/// A replacement is made from the HMAC of the value under a secret key. Without the key nobody can try values until one
/// gives a known replacement, however short they are.
final class Pseudonyms {
    /// What a value looks like, and so does its replacement.
    enum Form: UInt8 {
        /// Letters and digits for characters of one byte, and characters of the same length for longer ones. Every
        /// character that JSON has a short escape for becomes a slash.
        case text
        /// A device token. Hexadecimal digits stay such, and other characters are no such digits afterwards.
        case token
        /// Hexadecimal digits between hyphens, such as a UUID.
        case identity
        /// Base64 with padding, such as the identifier of a channel.
        case base64
        /// Names and numbers between dots and other signs, such as a host or a topic. The signs stay.
        case separated
        /// A number in JSON. Sign, point and exponent stay.
        case number
    }

    private struct Value: Hashable {
        let form: Form
        let characters: [Unicode.Scalar]
    }

    private let key: [UInt8]
    private var known: [Value: [Unicode.Scalar]] = [:]
    private var taken: Set<[Unicode.Scalar]>

    /// Different values up to this length get different replacements, as long as there are enough. Longer ones do so
    /// in any case, because equal ones are too improbable.
    private static let watchedLength = 16
    /// How often another replacement is tried if one is taken.
    private static let attempts: UInt8 = 100

    /// - Parameters:
    ///   - key: a secret of at least 16 bytes.
    ///   - reserved: texts that take no other's place.
    init(key: [UInt8], reserved: Set<String> = []) {
        self.key = key
        taken = Set(reserved.map { Array($0.unicodeScalars) })
    }

    /// The replacement of a value whose form shows what it is: an identity, a device token, base64, or any text.
    func replacement(of value: [Unicode.Scalar]) -> [Unicode.Scalar] {
        if Self.isIdentity(value) { return replacement(of: value, as: .identity) }
        if value.count >= Limits.strangeTokenDigits, value.allSatisfy(Self.isHexadecimal) {
            return replacement(of: value, as: .token)
        }
        return replacement(of: value, as: Self.isBase64(value) ? .base64 : .text)
    }

    /// The replacement of a value in a form that it has.
    func replacement(of value: [Unicode.Scalar], as form: Form) -> [Unicode.Scalar] {
        guard form == .token || form == .identity else { return exactReplacement(of: value, as: form) }
        // Case has no meaning in these. One in capitals stays so.
        let isCapital = value.contains { "A"..."F" ~= $0 } && !value.contains { "a"..."f" ~= $0 }
        let made = exactReplacement(of: value.map(Self.lowerCase), as: form)
        return isCapital ? made.map { "a"..."f" ~= $0 ? Unicode.Scalar(UInt8($0.value) - 0x20) : $0 } : made
    }

    /// The replacement of bytes that are no text: as many letters and digits.
    func bytes(for bytes: [UInt8]) -> [UInt8] {
        let message = [Form.text.rawValue, .max] + bytes
        var source = source(of: message)
        return bytes.map { _ in UInt8(truncatingIfNeeded: source.pick(Alphabet.text).value) }
    }

    private func source(of message: [UInt8]) -> Source {
        let key = key
        return Source(seed: HMAC.sha256(of: message.span, key: key.span))
    }

    private func exactReplacement(of characters: [Unicode.Scalar], as form: Form) -> [Unicode.Scalar] {
        let value = Value(form: form, characters: characters)
        guard characters.count <= Self.watchedLength else { return candidate(value, attempt: 0) }
        if let made = known[value] { return made }
        var made = candidate(value, attempt: 0)
        for attempt in 1...Self.attempts where taken.contains(made) {
            made = candidate(value, attempt: attempt)
        }
        taken.insert(made)
        known[value] = made
        return made
    }

    private func candidate(_ value: Value, attempt: UInt8) -> [Unicode.Scalar] {
        let text = String(String.UnicodeScalarView(value.characters))
        let message = [value.form.rawValue, attempt] + Array(text.utf8)
        var source = source(of: message)
        switch value.form {
        case .number: return Self.number(value.characters, &source)
        case .base64:
            // The last digit before the padding has bits that must be zero.
            let end = value.characters.lastIndex { $0 != "=" } ?? 0
            let last = value.characters.count - end == 2 ? Alphabet.lastOfTwoBytes : Alphabet.lastOfOneByte
            return value.characters.enumerated().map { index, character in
                index == end ? source.pick(last) : Self.character(character, .base64, &source)
            }
        default: return value.characters.map { Self.character($0, value.form, &source) }
        }
    }

    private static func character(
        _ character: Unicode.Scalar, _ form: Form, _ source: inout Source
    ) -> Unicode.Scalar {
        guard character.isASCII, case .bytes(1) = JSONText.CharacterClass(character) else {
            return longCharacter(character, &source)
        }
        switch form {
        case .token:
            return source.pick(isHexadecimal(character) ? Alphabet.hexadecimal : Alphabet.notHexadecimal)
        case .identity: return character == "-" ? character : source.pick(Alphabet.hexadecimal)
        case .base64: return character == "=" ? character : source.pick(Alphabet.text)
        case .separated where isDigit(character): return source.pick(Alphabet.digits)
        case .separated where isLetter(character): return source.pick(Alphabet.letters)
        case .separated: return character
        case .text, .number: return source.pick(Alphabet.text)
        }
    }

    /// The replacement of a character with a short escape, or of one beyond ASCII.
    private static func longCharacter(
        _ character: Unicode.Scalar, _ source: inout Source
    ) -> Unicode.Scalar {
        switch JSONText.CharacterClass(character) {
        case .short: "/"
        case .bytes(2): source.pick(Alphabet.twoBytes)
        case .bytes(3): source.pick(Alphabet.threeBytes)
        default: source.pick(Alphabet.fourBytes)
        }
    }

    /// Other digits for those of a number. It stays valid JSON, and about as large.
    private static func number(_ number: [Unicode.Scalar], _ source: inout Source) -> [Unicode.Scalar] {
        let start = number.first == "-" ? 1 : 0
        let end = number.firstIndex { $0 == "e" || $0 == "E" } ?? number.count
        return number.enumerated().map { index, character in
            guard start..<end ~= index, isDigit(character) else { return character }
            if index > start { return source.pick(Alphabet.digits) }
            // A zero is the whole integer part, and must be followed by no digit.
            return character == "0" ? character : source.pick(Alphabet.firstDigits)
        }
    }

    // MARK: Forms

    private static func isIdentity(_ value: [Unicode.Scalar]) -> Bool {
        value.count == 36
            && value.enumerated().allSatisfy { index, character in
                [8, 13, 18, 23].contains(index) ? character == "-" : isHexadecimal(character)
            }
    }

    private static func isBase64(_ value: [Unicode.Scalar]) -> Bool {
        let padding = value.reversed().prefix { $0 == "=" }.count
        guard value.count >= 8, value.count.isMultiple(of: 4), 1...2 ~= padding else { return false }
        let digits = value.dropLast(padding)
        return digits.allSatisfy { isDigit($0) || isLetter($0) || $0 == "+" || $0 == "/" }
    }

    private static func isHexadecimal(_ character: Unicode.Scalar) -> Bool {
        isDigit(character) || "a"..."f" ~= character || "A"..."F" ~= character
    }

    private static func isDigit(_ character: Unicode.Scalar) -> Bool { "0"..."9" ~= character }

    private static func isLetter(_ character: Unicode.Scalar) -> Bool {
        "a"..."z" ~= character || "A"..."Z" ~= character
    }

    private static func lowerCase(_ character: Unicode.Scalar) -> Unicode.Scalar {
        "A"..."Z" ~= character ? Unicode.Scalar(UInt8(character.value) + 0x20) : character
    }
}

/// The characters of replacements.
private enum Alphabet {
    static let digits = range("0", "9")
    /// Without 9, so that no whole number of 64 bits becomes too large.
    static let firstDigits = range("1", "8")
    static let letters = range("a", "z")
    static let hexadecimal = digits + range("a", "f")
    static let notHexadecimal = range("g", "z")
    static let text = range("a", "z") + range("A", "Z") + digits
    static let lastOfTwoBytes = Array("AEIMQUYcgkosw048".unicodeScalars)
    static let lastOfOneByte = Array("AQgw".unicodeScalars)
    /// Greek letters.
    static let twoBytes = range("\u{3B1}", "\u{3C9}")
    /// Hiragana.
    static let threeBytes = range("\u{3041}", "\u{3093}")
    /// Faces.
    static let fourBytes = range("\u{1F600}", "\u{1F64F}")

    private static func range(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> [Unicode.Scalar] {
        (first.value...last.value).compactMap(Unicode.Scalar.init)
    }
}

/// Bytes that a secret seed determines.
private struct Source {
    let seed: [UInt8]
    private var block: [UInt8] = []
    private var next = 0
    private var blocks: UInt32 = 0

    init(seed: [UInt8]) { self.seed = seed }

    mutating func pick(_ alphabet: [Unicode.Scalar]) -> Unicode.Scalar {
        if next == block.count {
            let number = (0..<4).map { UInt8(truncatingIfNeeded: blocks >> ($0 * 8)) }
            block = HMAC.sha256(of: number.span, key: seed.span)
            blocks += 1
            next = 0
        }
        defer { next += 1 }
        return alphabet[Int(block[next]) % alphabet.count]
    }
}
