/// The partitions of one node, from their taking to their release.
struct OwnPartitions: Sendable {
    /// Those that the node loads or serves.
    private(set) var held: Set<Partition> = []
    /// Those that it was told to give up.
    private(set) var leaving: Set<Partition> = []
    /// Those that it has given up, and that the database still has as its own.
    private(set) var givenUp: Set<Partition> = []

    var isEmpty: Bool { held.isEmpty && leaving.isEmpty && givenUp.isEmpty }

    /// Notes what the database has as the node's own, and returns what is new among it.
    mutating func note(_ own: Set<Partition>) -> Set<Partition> {
        givenUp.formIntersection(own)
        let new = own.subtracting(held).subtracting(leaving).subtracting(givenUp)
        held.formUnion(new)
        return new
    }

    mutating func giveUp(_ partitions: Set<Partition>) {
        held.subtract(partitions)
        leaving.formUnion(partitions)
    }

    mutating func gaveUp(_ partitions: Set<Partition>) {
        givenUp.formUnion(leaving.intersection(partitions))
        leaving.subtract(partitions)
    }
}
