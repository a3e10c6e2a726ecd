/// A seed that once found something. If the world has changed since then, the seed no longer finds it; the test named
/// here checks the same defect.
struct KeptSeed {
    let seed: UInt64
    let found: String

    static let all = [
        KeptSeed(
            seed: 23,
            found: "newest: a push that was replaced by a now-or-never one that failed was answered 200"),
        KeptSeed(seed: 29, found: "answers: an app had two good registrations after a refused change"),
        KeptSeed(
            seed: 1286,
            found:
                "answers: a device was welcomed while what its last link had asked for was under way, "
                + "and was not told how that ended"),
        KeptSeed(seed: 1407, found: "answers: the same, with a registration that had ended"),
    ]
}
