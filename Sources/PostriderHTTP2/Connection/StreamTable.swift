/// A map from the identifiers of open streams to their owner's values.
///
/// Identifiers are odd and grow, so the streams that are open together fall on different places of a ring, without
/// hashing. If a place is taken (by a stream that has been open for long, or because the peer skips identifiers), the
/// stream goes to a dictionary.
public struct StreamTable<Element> {
    /// The stream at each place of the ring; 0 if the place is free.
    @usableFromInline var streams: [Int32] = []
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var others: [Int32: Element] = [:]
    /// How many places are taken.
    @usableFromInline var taken = 0

    /// An empty table without memory.
    @inlinable public init() {}

    /// How many streams have a value.
    @inlinable public var count: Int { taken + others.count }

    /// Whether no stream has a value.
    @inlinable public var isEmpty: Bool { count == 0 }

    /// The value of a stream.
    @inlinable public subscript(stream: Int32) -> Element? {
        let place = place(of: stream)
        if place < streams.count, streams[place] == stream { return elements[place] }
        return others.isEmpty ? nil : others[stream]
    }

    /// Sets the value of a stream that has none.
    @inlinable
    public mutating func add(_ element: Element, for stream: Int32) {
        if streams.count < 2 * count + 2 { grow() }
        let place = place(of: stream)
        let isNew = streams[place] != stream && (others.isEmpty || others[stream] == nil)
        precondition(stream > 0 && isNew, "a stream is added once")
        guard streams[place] == 0 else { return others[stream] = element }
        streams[place] = stream
        elements[place] = element
        taken += 1
    }

    /// Removes and returns the value of a stream.
    @inlinable
    public mutating func remove(_ stream: Int32) -> Element? {
        let place = place(of: stream)
        guard place < streams.count, streams[place] == stream else {
            return others.isEmpty ? nil : others.removeValue(forKey: stream)
        }
        streams[place] = 0
        taken -= 1
        return elements[place].take()
    }

    @inlinable
    func place(of stream: Int32) -> Int { Int(stream >> 1) & (streams.count - 1) }

    @usableFromInline
    mutating func grow() {
        let old = self
        self = StreamTable()
        let capacity = max(16, 2 * old.streams.count)
        streams = [Int32](repeating: 0, count: capacity)
        elements = [Element?](repeating: nil, count: capacity)
        for (stream, element) in zip(old.streams, old.elements) {
            if let element { add(element, for: stream) }
        }
        for (stream, element) in old.others { add(element, for: stream) }
    }
}
