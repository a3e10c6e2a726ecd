/// Something by keys in their order: most come at the end, and halving the order finds one sooner than a hash that
/// strangers cannot foretell, in less memory.
struct SortedTable<Key: Comparable, Value>: RandomAccessCollection {
    private(set) var keys: [Key] = []
    private(set) var values: [Value] = []

    var startIndex: Int { 0 }
    var endIndex: Int { keys.count }
    subscript(place: Int) -> (key: Key, value: Value) { (keys[place], values[place]) }

    /// What has a key.
    subscript(key: Key) -> Value? {
        get { place(of: key).map { values[$0] } }
        set {
            let place = firstPlace(from: key)
            let isThere = place < keys.count && keys[place] == key
            switch (newValue, isThere) {
            case (let value?, true): values[place] = value
            case (let value?, false):
                keys.insert(key, at: place)
                values.insert(value, at: place)
            case (nil, true):
                keys.remove(at: place)
                values.remove(at: place)
            case (nil, false): break
            }
        }
    }

    /// Where the value of a key is; nil: there is none.
    func place(of key: Key) -> Int? {
        let place = firstPlace(from: key)
        return place < keys.count && keys[place] == key ? place : nil
    }

    /// Changes the value at a place.
    mutating func update<Result>(at place: Int, _ change: (inout Value) -> Result) -> Result {
        change(&values[place])
    }

    /// The first place whose key is this one or a later one.
    private func firstPlace(from key: Key) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
