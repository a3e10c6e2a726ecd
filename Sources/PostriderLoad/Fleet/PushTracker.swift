/// What has become of every push of one thread: sent, answered, arrived. It finds what was lost, what came twice and
/// what came to the wrong device.
///
/// A push takes 16 bytes until everything is known of it and of the 65,535 beside it; then they are forgotten, and
/// whatever still comes of them is a copy.
struct PushTracker {
    /// What has happened to a push, and what is expected of it.
    fileprivate struct Happened: OptionSet {
        let rawValue: UInt8
        static let accepted = Happened(rawValue: 1)
        static let refused = Happened(rawValue: 2)
        /// The connection ended before the answer.
        static let unanswered = Happened(rawValue: 4)
        static let arrived = Happened(rawValue: 8)
        /// It need not arrive: now or never, and the device was not there.
        static let waived = Happened(rawValue: 16)
        /// It is under way until it has arrived, not only until it is answered: the device was there.
        static let awaited = Happened(rawValue: 32)
        /// Now or never: the end of its device's link excuses its loss.
        static let fleeting = Happened(rawValue: 64)
    }

    /// What is expected of a push.
    struct Expectation: Equatable {
        /// Whether the device is there.
        var isPresent: Bool
        /// Whether the push is kept for a device that is not.
        var isStored: Bool
        /// Whether somebody looks for arrivals at all.
        var isWatched = true

        fileprivate var happened: Happened {
            guard isWatched, isPresent || isStored else { return .waived }
            let awaited: Happened = isPresent ? .awaited : []
            return isStored ? awaited : awaited.union(.fleeting)
        }
    }

    private struct Entry {
        let moment: UInt64
        let device: UInt32
        var happened: Happened
    }

    private final class Page {
        var entries: [Entry] = []
        /// Entries of which all is known, or as much as will be.
        var settled = 0
        /// Unanswered ones that have not arrived: they still may.
        var open = 0
    }

    /// What an arrival is.
    enum Arrival: Equatable {
        /// The first of its push.
        case first
        /// It came before.
        case copy
        /// It was sent to another device, or never, or was refused.
        case stray
    }

    private static let pageBits: UInt64 = 16
    private static let pageSize = 1 << pageBits
    /// Nil: it is forgotten.
    private var pages: [Page?] = []
    /// Whether a page has pushes that need not arrive, and might: once it is forgotten, nobody knows.
    private var isDoubtful: [Bool] = []
    /// Whether any was now or never.
    private var isAnyFleeting = false

    /// Pushes sent.
    private(set) var sent: UInt64 = 0
    /// Of these: those that are not answered.
    private(set) var open = 0
    /// Those that are not answered, or not on a device that is there.
    private(set) var underWay = 0
    /// Accepted, due to arrive, and not there yet.
    private(set) var missingCount = 0
    /// Accepted, and neither there nor due to arrive.
    private(set) var excusedCount = 0
    /// There, though their answers never came: they were accepted, and nobody was told.
    private(set) var unansweredArrivals = 0

    /// Notes a push that is being sent, and answers its number.
    mutating func send(to device: Int, at moment: UInt64, _ expectation: Expectation) -> UInt64 {
        let number = sent
        if number & UInt64(Self.pageSize - 1) == 0 {
            let page = Page()
            page.entries.reserveCapacity(Self.pageSize)
            pages.append(page)
            isDoubtful.append(false)
        }
        let entry = Entry(moment: moment, device: UInt32(device), happened: expectation.happened)
        pages[pages.count - 1]?.entries.append(entry)
        if entry.happened == .waived { isDoubtful[pages.count - 1] = true }
        if entry.happened.contains(.fleeting) { isAnyFleeting = true }
        sent += 1
        open += 1
        underWay += 1
        return number
    }

    /// The moment of a push from which its latency counts; nil where it is forgotten.
    func moment(of number: UInt64) -> UInt64? {
        guard let (page, place) = find(number) else { return nil }
        return page.entries[place].moment
    }

    /// The push was answered with 200.
    mutating func accepted(_ number: UInt64) {
        guard let (page, place) = find(number) else { return }
        page.entries[place].happened.insert(.accepted)
        let happened = page.entries[place].happened
        open -= 1
        if happened.contains(.arrived) || !happened.contains(.awaited) { underWay -= 1 }
        if happened.isDisjoint(with: [.arrived, .waived]) {
            missingCount += 1
        } else {
            if !happened.contains(.arrived) { excusedCount += 1 }
            settle(page, number)
        }
    }

    /// The push was answered with anything else.
    mutating func refused(_ number: UInt64) {
        guard let (page, place) = find(number) else { return }
        page.entries[place].happened.insert(.refused)
        open -= 1
        underWay -= 1
        settle(page, number)
    }

    /// There will be no answer. It may have been accepted or not.
    mutating func unanswered(_ number: UInt64) {
        guard let (page, place) = find(number) else { return }
        page.entries[place].happened.insert(.unanswered)
        if page.entries[place].happened.contains(.arrived) {
            unansweredArrivals += 1
        } else {
            page.open += 1
        }
        open -= 1
        underWay -= 1
        settle(page, number)
    }

    /// A push came to a device.
    mutating func arrived(_ number: UInt64, at device: Int) -> Arrival {
        guard number < sent else { return .stray }
        guard let (page, place) = find(number) else {
            guard isDoubtful[Int(number >> Self.pageBits)] else { return .copy }
            if excusedCount > 0 { excusedCount -= 1 }
            return .first
        }
        let before = page.entries[place].happened
        guard Int(page.entries[place].device) == device, !before.contains(.refused) else { return .stray }
        guard !before.contains(.arrived) else { return .copy }
        page.entries[place].happened.insert(.arrived)
        if before.contains(.unanswered) {
            page.open -= 1
            unansweredArrivals += 1
            forgetIfDone(page, number)
        } else if before.isSuperset(of: [.accepted, .waived]) {
            excusedCount -= 1
        } else if before.contains(.accepted), !before.contains(.waived) {
            missingCount -= 1
            if before.contains(.awaited) { underWay -= 1 }
            settle(page, number)
        }
        return .first
    }

    /// Expects no more what was now or never, where the link of its device has ended since: `hasLinkEnded` says so
    /// for a device and a moment.
    mutating func excuse(_ hasLinkEnded: (_ device: Int, _ since: UInt64) -> Bool) {
        guard isAnyFleeting else { return }
        for (index, page) in pages.enumerated() {
            guard let page else { continue }
            for (place, entry) in page.entries.enumerated() {
                guard entry.happened.contains(.fleeting),
                    entry.happened.isDisjoint(with: [.arrived, .refused, .unanswered, .waived]),
                    hasLinkEnded(Int(entry.device), entry.moment)
                else { continue }
                page.entries[place].happened.formUnion(.waived)
                page.entries[place].happened.remove(.awaited)
                isDoubtful[index] = true
                guard entry.happened.contains(.accepted) else { continue }
                missingCount -= 1
                excusedCount += 1
                if entry.happened.contains(.awaited) { underWay -= 1 }
                settle(page, UInt64(index) << Self.pageBits | UInt64(place))
            }
        }
    }

    /// The pushes that were lost: accepted, due to arrive, and not there; the first of them, and how many there are.
    func lost(naming most: Int) -> (count: Int, first: [(number: UInt64, device: Int, moment: UInt64)]) {
        var first: [(number: UInt64, device: Int, moment: UInt64)] = []
        var count = 0
        for (index, page) in pages.enumerated() {
            for (place, entry) in (page?.entries ?? []).enumerated() {
                guard entry.happened.contains(.accepted) else { continue }
                guard entry.happened.isDisjoint(with: [.arrived, .waived]) else { continue }
                let device = Int(entry.device)
                count += 1
                guard first.count < most else { continue }
                first.append((UInt64(index) << Self.pageBits | UInt64(place), device, entry.moment))
            }
        }
        return (count, first)
    }

    /// How many pages are in memory.
    var pagesInMemory: Int { pages.count { $0 != nil } }

    private func find(_ number: UInt64) -> (Page, Int)? {
        guard let page = pages[Int(number >> Self.pageBits)] else { return nil }
        return (page, Int(number) & (Self.pageSize - 1))
    }

    private mutating func settle(_ page: Page, _ number: UInt64) {
        page.settled += 1
        forgetIfDone(page, number)
    }

    private mutating func forgetIfDone(_ page: Page, _ number: UInt64) {
        guard page.settled == Self.pageSize, page.open == 0 else { return }
        pages[Int(number >> Self.pageBits)] = nil
    }
}

/// Which second copies a device has to put up with. When a link is cut the relay does not know of the last
/// acknowledgements, and sends those pushes again ("at least once"); any other copy is a mistake.
struct DuplicateClassifier {
    /// The pushes that came last over the link at hand, as many as a relay lets be under way.
    private var recent: [UInt64] = []
    private var next = 0
    /// Those that came last over links that were cut.
    private var doubtful: Set<UInt64> = []
    private let window: Int

    /// For a relay that lets so many deliveries be under way.
    init(window: Int) { self.window = window }

    /// A push came over the link at hand, for the first time or not.
    mutating func arrived(_ number: UInt64) {
        if recent.count < window {
            recent.append(number)
        } else {
            recent[next] = number
            next = (next + 1) % window
        }
    }

    /// Whether a copy of a push may come over the link at hand: once for each link that was cut.
    mutating func allows(copyOf number: UInt64) -> Bool { doubtful.remove(number) != nil }

    /// The link has ended. `isOrderly`: the relay took every acknowledgement before it ended.
    mutating func linkEnded(isOrderly: Bool) {
        // What a relay has to say again comes first on the next link: older doubts are over once a link was up
        // for as many deliveries.
        if recent.count >= window { doubtful.removeAll() }
        if !isOrderly { doubtful.formUnion(recent) }
        recent.removeAll(keepingCapacity: true)
        next = 0
    }
}
