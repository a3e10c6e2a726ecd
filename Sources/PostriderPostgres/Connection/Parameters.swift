/// The parameters of one statement in PostgreSQL's binary format, in one buffer.
struct Parameters {
    /// One parameter.
    struct Value {
        /// The number of its type in the server; 0 if the server infers it.
        let type: UInt32
        /// Where its bytes are; nil for NULL.
        let bytes: Range<Int>?
    }

    private(set) var bytes: [UInt8] = []
    private(set) var values: [Value] = []

    /// The numbers of types and of their arrays; they are the same in every server.
    private enum TypeNumber {
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let arrayOfBytes: UInt32 = 1001
        static let arrayOfTexts: UInt32 = 1009
        static let arrayOfIntegers: UInt32 = 1016
    }

    /// Appends a number, or NULL.
    mutating func add(_ value: Int64?) {
        guard let value else { return addNull(TypeNumber.integer) }
        add(TypeNumber.integer) { $0.append(value) }
    }

    /// Appends a text, or NULL.
    mutating func add(_ value: String?) {
        guard let value else { return addNull(TypeNumber.text) }
        add(TypeNumber.text) { $0.append(value) }
    }

    /// Appends bytes.
    mutating func add(_ value: [UInt8]) { add(TypeNumber.bytes) { $0.bytes += value } }

    /// Adds bytes, or NULL.
    mutating func add(_ value: [UInt8]?) {
        guard let value else { return addNull(TypeNumber.bytes) }
        add(value)
    }

    /// Appends an array of numbers.
    mutating func add(_ values: some Collection<Int64>) {
        addArray(values, of: TypeNumber.integer, TypeNumber.arrayOfIntegers) { $0.append($1) }
    }

    /// Appends an array of texts, each of which may be NULL.
    mutating func add(_ values: some Collection<String?>) {
        add(TypeNumber.arrayOfTexts) { own in
            own.beginArray(of: TypeNumber.text, count: values.count, hasNull: true)
            for value in values {
                guard let value else {
                    own.append(Int32(-1))
                    continue
                }
                own.appendElement { $0.append(value) }
            }
        }
    }

    /// Appends an array of bytes.
    mutating func add(_ values: some Collection<[UInt8]>) {
        addArray(values, of: TypeNumber.bytes, TypeNumber.arrayOfBytes) { $0.bytes += $1 }
    }

    private mutating func addArray<Element>(
        _ values: some Collection<Element>, of type: UInt32, _ arrayType: UInt32,
        _ append: (inout Parameters, Element) -> Void
    ) {
        add(arrayType) { own in
            own.beginArray(of: type, count: values.count, hasNull: false)
            for value in values { own.appendElement { append(&$0, value) } }
        }
    }

    private mutating func beginArray(of type: UInt32, count: Int, hasNull: Bool) {
        append(Int32(1))  // dimensions
        append(Int32(hasNull ? 1 : 0))
        append(Int32(bitPattern: type))
        append(Int32(count))
        append(Int32(1))  // the first index
    }

    /// Appends an element with its length before it.
    private mutating func appendElement(_ append: (inout Parameters) -> Void) {
        let place = bytes.count
        self.append(Int32(0))
        append(&self)
        let length = UInt32(bytes.count - place - 4)
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index)) }
    }

    private mutating func add(_ type: UInt32, _ append: (inout Parameters) -> Void) {
        let start = bytes.count
        append(&self)
        values.append(Value(type: type, bytes: start..<bytes.count))
    }

    private mutating func addNull(_ type: UInt32) { values.append(Value(type: type, bytes: nil)) }

    private mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        for index in (0..<Number.bitWidth / 8).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index)))
        }
    }

    /// PostgreSQL's texts cannot contain U+0000, and no valid text of a record does: U+FFFD takes its place.
    private mutating func append(_ text: String) {
        let isWhole = !text.utf8.contains(0)
        bytes += isWhole ? text.utf8 : text.replacing("\0", with: "\u{FFFD}").utf8
    }
}

/// A statement with its parameters.
struct Request {
    let sql: String
    var parameters = Parameters()
    /// The name under which the connection has prepared it; nil if it is parsed each time.
    var name: String?

    init(_ sql: String, name: String? = nil, _ fill: (inout Parameters) -> Void = { _ in }) {
        self.sql = sql
        self.name = name
        fill(&parameters)
    }

    /// The same statement with parameters.
    func filled(_ fill: (inout Parameters) -> Void) -> Request {
        var request = self
        fill(&request.parameters)
        return request
    }
}
