extension Array {
    /// The first place, not before `start`, from which on all elements fulfil a condition, found by halving: between
    /// `start` and it none does.
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
