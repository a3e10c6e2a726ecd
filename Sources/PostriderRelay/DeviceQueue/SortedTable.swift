import PostriderNotifications

/// A map in the order of its keys. Most keys are added at the end, and binary search is faster and smaller than a hash
/// table whose hashes strangers cannot predict.
struct SortedTable<Key: Comparable, Value>: RandomAccessCollection {
    private(set) var keys: [Key] = []
    private(set) var values: [Value] = []

    var startIndex: Int { 0 }
    var endIndex: Int { keys.count }
    subscript(place: Int) -> (key: Key, value: Value) { (keys[place], values[place]) }

    /// The value of a key.
    subscript(key: Key) -> Value? {
        get { place(of: key).map { values[$0] } }
        set {
            let place = keys.firstPlace(from: key)
            let next = place < keys.count && keys[place] == key ? place + 1 : place
            keys.replaceSubrange(place..<next, with: newValue == nil ? [] : [key])
            values.replaceSubrange(place..<next, with: newValue.map { [$0] } ?? [])
        }
    }

    /// The place of a key; nil if there is none.
    func place(of key: Key) -> Int? {
        let place = keys.firstPlace(from: key)
        return place < keys.count && keys[place] == key ? place : nil
    }

    /// Changes the value at a place.
    mutating func update<Result>(at place: Int, _ change: (inout Value) -> Result) -> Result {
        change(&values[place])
    }
}

extension Array where Element: Comparable {
    /// The first place of a sorted array with this element or a greater one.
    @inline(__always)
    func firstPlace(from element: Element) -> Int { firstPlace { $0 >= element } }
}
