/// Makes inputs from stored ones, as a fuzzer does: it changes, removes, repeats and inserts bytes, and joins inputs.
struct InputMutator {
    /// Stored inputs; none is empty.
    let inputs: [[UInt8]]
    /// What the target's dictionary holds.
    let words: [[UInt8]]
    let longest: Int

    /// Bytes at which code that reads lengths and types tends to branch.
    private static let borders: [UInt8] = [0, 1, 0x0A, 0x20, 0x3F, 0x40, 0x7F, 0x80, 0xFE, 0xFF]

    /// Returns an input in which one to six things are other than in a stored one.
    func draw(_ chance: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes = inputs[Int.random(in: inputs.indices, using: &chance)]
        for _ in 0..<Int.random(in: 1...6, using: &chance) { mutate(&bytes, &chance) }
        return Array(bytes.prefix(longest))
    }

    private func mutate(_ bytes: inout [UInt8], _ chance: inout some RandomNumberGenerator) {
        let place = Int.random(in: 0...bytes.count, using: &chance)
        let end = min(bytes.count, place + Int.random(in: 1...32, using: &chance))
        switch Int.random(in: 0..<7, using: &chance) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
        case 1 where place < bytes.count:
            bytes[place] = Self.borders[Int.random(in: Self.borders.indices, using: &chance)]
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4:
            let other = inputs[Int.random(in: inputs.indices, using: &chance)]
            bytes.replaceSubrange(place..., with: other[Int.random(in: other.indices, using: &chance)...])
        case 5 where !words.isEmpty:
            let word = words[Int.random(in: words.indices, using: &chance)]
            // In the place of as many bytes, or between them.
            let replaced = Bool.random(using: &chance) ? word.count : 0
            bytes.replaceSubrange(place..<min(bytes.count, place + replaced), with: word)
        default: bytes.insert(.random(in: .min ... .max, using: &chance), at: place)
        }
    }
}

extension InputMutator {
    /// Reads the words of one of libFuzzer's dictionaries; nil if a line is none.
    static func words(of dictionary: String) -> [[UInt8]]? {
        var words: [[UInt8]] = []
        for line in dictionary.split(separator: "\n") where !line.hasPrefix("#") {
            guard let first = line.firstIndex(of: "\""), let last = line.lastIndex(of: "\""), first < last,
                let word = word(Array(line[line.index(after: first)..<last].utf8))
            else { return nil }
            words.append(word)
        }
        return words
    }

    private static func word(_ text: [UInt8]) -> [UInt8]? {
        var (word, rest) = ([UInt8](), text[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                word.append(byte)
                continue
            }
            guard let next = rest.popFirst() else { return nil }
            guard next == UInt8(ascii: "x") else {
                word.append(next)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            word.append(value)
            rest = rest.dropFirst(2)
        }
        return word
    }
}
