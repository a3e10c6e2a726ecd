extension Array {
    /// The first index from `start` on whose element fulfils a condition, found by binary search. The elements must
    /// be partitioned: if one fulfils the condition, all later ones do.
    @inlinable
    @inline(__always)
    public func firstPlace(from start: Int = 0, where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (start, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
