extension RandomAccessCollection where Index == Int {
    /// The first place from which on all elements fulfil a condition, found by halving: before it none does.
    @inlinable
    @inline(__always)
    public func firstPlace(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
