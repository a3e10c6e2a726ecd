/// Remembers runs of fields that are the same, byte for byte, in each request of a connection: all fields between those
/// that differ, such as the path. They are decoded once, and copied as long as the HPACK table does not change.
///
/// The first run begins with the block, each other one after a field that differs.
struct HPACKMemo {
    private final class Run {
        /// The fields as they were sent.
        let code: [UInt8]
        /// Their names and values, decoded.
        let text: [UInt8]
        /// Their ranges in the block. The first field began at ``start``.
        let fields: [HeaderBlock.Field]
        let start: UInt32
        /// The table's generation when they were decoded.
        let generation: Int
        /// The progress of the block before and after these fields.
        let before: HPACKDecoder.Progress
        let after: HPACKDecoder.Progress

        init(
            _ begin: Beginning, to end: Int, of source: HPACKReader, _ target: HPACKWriter,
            _ progress: HPACKDecoder.Progress
        ) {
            code = unsafe Array(source.bytes(begin.place..<end))
            text = unsafe Array(target.bytes(from: begin.start))
            fields = unsafe Array(target.fields[begin.fieldCount...])
            start = UInt32(truncatingIfNeeded: begin.start)
            generation = begin.generation
            (before, after) = (begin.progress, progress)
        }
    }

    /// A run that is being decoded for the first time.
    private struct Beginning {
        let place: Int
        let start: Int
        let fieldCount: Int
        let generation: Int
        let progress: HPACKDecoder.Progress
    }

    private var runs = [Run?](repeating: nil, count: most)
    private var number = -1
    private var beginning: Beginning?

    /// The most runs of a block that are remembered.
    private static let most = 3
    /// The most bytes of a run that is remembered.
    private static let mostBytes = 1024

    /// A block begins.
    mutating func beginBlock() { number = -1 }

    /// A run begins here. If it is the same as in the last block, it is copied.
    mutating func begin(
        _ source: inout HPACKReader, _ target: inout HPACKWriter, _ progress: inout HPACKDecoder.Progress,
        _ generation: Int
    ) {
        number += 1
        beginning = nil
        guard number < Self.most else { return }
        if let run = runs[number], run.generation == generation, run.before == progress,
            run.fields.count <= target.fieldsLeft, source.take(run.code)
        {
            target.append(run.text, run.fields, from: run.start)
            progress = run.after
            return
        }
        beginning = Beginning(
            place: source.place, start: target.count, fieldCount: target.fieldCount, generation: generation,
            progress: progress)
    }

    /// A run ends before the field at `place`. If it is new, it is remembered from now on.
    mutating func end(
        _ source: HPACKReader, at place: Int, _ target: HPACKWriter, _ progress: HPACKDecoder.Progress,
        _ generation: Int
    ) {
        guard let begin = beginning else { return }
        beginning = nil
        // A run with `content-length` is not remembered: its range in the block would have to be found again.
        guard begin.place < place, place - begin.place <= Self.mostBytes, begin.generation == generation,
            begin.progress.contentLength == progress.contentLength, !target.isFull
        else { return }
        runs[number] = Run(begin, to: place, of: source, target, progress)
    }
}

/// The last value of `authorization`, Huffman-coded and decoded. Providers send the same one for an hour, and their
/// libraries keep it out of the tables, as RFC 7541, section 7.1.3, asks them to.
struct MemoisedString {
    private var code: [UInt8] = []
    private var text: [UInt8] = []
    private var isPlain = false

    /// The longest code that is remembered, in bytes. A provider token has 170.
    private static let mostBytes = 1024

    /// Appends a decoded string to `target`.
    ///
    /// - Returns: whether nghttp2 accepts the value in any case; nil if it is not a valid Huffman code.
    mutating func read(_ string: HPACKReader.Text, onto target: inout HPACKWriter) -> Bool? {
        if string.isCode, unsafe string.bytes.isSame(as: code) {
            unsafe text.withUnsafeBufferPointer { unsafe target.append($0) }
            return isPlain
        }
        let start = target.count
        guard string.read(onto: &target) else { return nil }
        let bytes = unsafe target.bytes(from: start)
        let isPlain = unsafe HeaderFieldKind.regular.isPlain(bytes)
        if string.isCode, unsafe string.bytes.count <= Self.mostBytes {
            unsafe (code, text, self.isPlain) = (Array(string.bytes), Array(bytes), isPlain)
        }
        return isPlain
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Compares in constant time, because there are provider tokens among these bytes. PostriderCrypto has such a
    /// comparison too; importing it here would make apps that link PostriderKit load OpenSSL.
    func isSame(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        let own = UnsafeRawBufferPointer(self)
        return unsafe other.withUnsafeBytes { other in
            var (difference, next): (UInt64, Int) = (0, 0)
            while next + 8 <= own.count {
                difference |=
                    unsafe own.loadUnaligned(fromByteOffset: next, as: UInt64.self)
                    ^ other.loadUnaligned(fromByteOffset: next, as: UInt64.self)
                next += 8
            }
            while next < own.count {
                difference |= unsafe UInt64(own[next] ^ other[next])
                next += 1
            }
            return difference == 0
        }
    }
}
