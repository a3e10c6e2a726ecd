/// Fields that come again, byte for byte, in each request of a connection: all that stands between those that differ,
/// such as the path. As long as no table has changed since they were read, they say the same again.
///
/// The first run begins with the block, each other one behind a field that differs.
struct HPACKMemo {
    private final class Run {
        /// As they came.
        let code: [UInt8]
        /// Their names and values.
        let text: [UInt8]
        /// Where these lay in their block, the first at ``start``.
        let fields: [HeaderBlock.Field]
        let start: UInt32
        /// The table's.
        let generation: Int
        /// What was known of the block before and behind them.
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

    /// A run that is being read for the first time.
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

    /// So many of a block are held, of so many bytes.
    private static let most = 3
    private static let mostBytes = 1024

    /// A block begins.
    mutating func beginBlock() { number = -1 }

    /// A run begins here. Takes it, if it is the one that stood here in the last block.
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

    /// A run ends before the field at `place`: if it is a new one, it is held from now on.
    mutating func end(
        _ source: HPACKReader, at place: Int, _ target: HPACKWriter, _ progress: HPACKDecoder.Progress,
        _ generation: Int
    ) {
        guard let begin = beginning else { return }
        beginning = nil
        // Where `content-length` lies would have to be found anew.
        guard begin.place < place, place - begin.place <= Self.mostBytes, begin.generation == generation,
            begin.progress.contentLength == progress.contentLength, !target.isFull
        else { return }
        runs[number] = Run(begin, to: place, of: source, target, progress)
    }
}

/// The value of `authorization` that came last, in code and without it. Providers send the same one for an hour, and
/// their libraries keep it out of the tables, as RFC 7541, section 7.1.3, asks them to.
struct MemoisedString {
    private var code: [UInt8] = []
    private var text: [UInt8] = []
    private var isPlain = false

    /// As much code as is kept. A token of Apple's takes 170 bytes.
    private static let mostBytes = 1024

    /// Appends a string to `target`. Nil: it says nothing; else whether the library takes it in any case.
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
    /// Whether these bytes are the same, in a time that does not tell where the first difference is: there are secrets
    /// among them.
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
