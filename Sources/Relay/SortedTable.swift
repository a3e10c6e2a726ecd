/// Something by numbers that rise: the next one is added at the end, and halving the order finds one sooner than a hash
/// that strangers cannot foretell.
struct SortedTable<Key: Comparable, Value>: RandomAccessCollection {
    private var elements: [(key: Key, value: Value)] = []

    var startIndex: Int { elements.startIndex }
    var endIndex: Int { elements.endIndex }
    subscript(place: Int) -> (key: Key, value: Value) { elements[place] }

    /// What has a key.
    subscript(key: Key) -> Value? {
        get {
            let place = firstPlace(from: key)
            return place < elements.count && elements[place].key == key ? elements[place].value : nil
        }
        set {
            let place = firstPlace(from: key)
            let isThere = place < elements.count && elements[place].key == key
            if let newValue {
                elements.replaceSubrange(place..<place + (isThere ? 1 : 0), with: [(key, newValue)])
            } else if isThere {
                elements.remove(at: place)
            }
        }
    }

    private func firstPlace(from key: Key) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
