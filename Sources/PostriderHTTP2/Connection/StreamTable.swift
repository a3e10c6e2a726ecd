/// A map from stream identifiers to what an owner keeps of each open stream.
///
/// Identifiers are odd and grow, so that those which are open at a time fill a ring side by side: no hash is needed. A
/// stream whose place is taken, by one that has been open for long or because the peer chooses its identifiers so, goes
/// to a dictionary.
public struct StreamTable<Element> {
    /// The stream of each place; 0: it is free.
    @usableFromInline var streams: [Int32] = []
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var others: [Int32: Element] = [:]
    /// Places that are taken.
    @usableFromInline var taken = 0

    /// An empty table without memory.
    @inlinable public init() {}

    /// How many streams have an element.
    @inlinable public var count: Int { taken + others.count }

    /// Whether no stream has an element.
    @inlinable public var isEmpty: Bool { count == 0 }

    /// The element of a stream.
    @inlinable public subscript(stream: Int32) -> Element? {
        let place = place(of: stream)
        if place < streams.count, streams[place] == stream { return elements[place] }
        return others.isEmpty ? nil : others[stream]
    }

    /// Gives an element to a stream, which must have none.
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

    /// Takes the element of a stream out.
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
