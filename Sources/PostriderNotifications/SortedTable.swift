/// A map in the order of its keys. Most keys are added at the end, and binary search is faster and smaller than a hash
/// table whose hashes strangers cannot predict.
///
/// Inlinable, so that each module compiles it for its own keys and values.
@usableFromInline
package struct SortedTable<Key: Comparable, Value>: RandomAccessCollection {
    @usableFromInline var orderedKeys: [Key] = []
    @usableFromInline var orderedValues: [Value] = []

    /// The keys, in order.
    @inlinable package var keys: [Key] { orderedKeys }
    /// The values, in the order of their keys.
    @inlinable package var values: [Value] { orderedValues }

    /// A table without entries.
    @inlinable
    package init() {}

    @inlinable
    package var startIndex: Int { 0 }
    @inlinable
    package var endIndex: Int { keys.count }
    @inlinable
    package subscript(place: Int) -> (key: Key, value: Value) { (keys[place], values[place]) }

    /// The value of a key.
    @inlinable
    package subscript(key: Key) -> Value? {
        get { place(of: key).map { values[$0] } }
        set {
            let place = keys.firstPlace(from: key)
            let next = place < keys.count && keys[place] == key ? place + 1 : place
            orderedKeys.replaceSubrange(place..<next, with: newValue == nil ? [] : [key])
            orderedValues.replaceSubrange(place..<next, with: newValue.map { [$0] } ?? [])
        }
    }

    /// The place of a key; nil if there is none.
    @inlinable
    package func place(of key: Key) -> Int? {
        let place = keys.firstPlace(from: key)
        return place < keys.count && keys[place] == key ? place : nil
    }

    /// Changes the value at a place.
    @inlinable
    package mutating func update<Result>(at place: Int, _ change: (inout Value) -> Result) -> Result {
        change(&orderedValues[place])
    }
}

extension Array where Element: Comparable {
    /// The first place of a sorted array with this element or a greater one.
    @inline(__always)
    @inlinable
    package func firstPlace(from element: Element) -> Int { firstPlace { $0 >= element } }
}
