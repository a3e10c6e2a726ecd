/// Follows every push of one thread: sent, answered, arrived. It finds pushes that were lost, arrived twice, or arrived
/// at the wrong device.
///
/// A push takes 16 bytes until it and the 65,535 others of its page are complete. Then the page is freed, and a further
/// arrival of one of them counts as a copy.
struct PushTracker {
    /// What has happened to a push, and what is expected of it.
    fileprivate struct Happened: OptionSet {
        let rawValue: UInt8
        static let accepted = Happened(rawValue: 1)
        static let refused = Happened(rawValue: 2)
        /// The connection ended before the answer.
        static let unanswered = Happened(rawValue: 4)
        static let arrived = Happened(rawValue: 8)
        /// The push need not arrive: it is not stored, and its device was not connected.
        static let waived = Happened(rawValue: 16)
        /// The push is under way until it has arrived, not only until it is answered, because its device was connected.
        static let awaited = Happened(rawValue: 32)
        /// The push is not stored: the end of its device's link excuses its loss.
        static let fleeting = Happened(rawValue: 64)
    }

    /// What is expected of a push.
    struct Expectation: Equatable {
        /// Whether the device is connected.
        var isPresent: Bool
        /// Whether the relay stores the push for a device that is not connected.
        var isStored: Bool
        /// Whether arrivals are watched at all.
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
        /// Pushes of the page about which nothing more is expected.
        var settled = 0
        /// Pushes without an answer that have not arrived. They still may.
        var open = 0
    }

    /// How an arrival is judged.
    enum Arrival: Equatable {
        /// It is the first arrival of its push.
        case first
        /// The push has arrived before.
        case copy
        /// The push was for another device, was refused, or never sent.
        case stray
    }

    private static let pageBits: UInt64 = 16
    private static let pageSize = 1 << pageBits
    /// The pages by number; nil if a page is freed.
    private var pages: [Page?] = []
    /// By page: whether it has pushes that may arrive but need not. Once it is freed, nobody knows whether they did.
    private var isDoubtful: [Bool] = []
    /// Whether any push was not to be stored.
    private var isAnyFleeting = false

    /// How many pushes were sent.
    private(set) var sent: UInt64 = 0
    /// Pushes without an answer.
    private(set) var open = 0
    /// Pushes without an answer, or not yet on a device that is connected.
    private(set) var underWay = 0
    /// Pushes that were accepted and must arrive, but have not yet.
    private(set) var missingCount = 0
    /// Pushes that were accepted and have not arrived, and need not.
    private(set) var excusedCount = 0
    /// Pushes that arrived although their connection ended before the answer: they were accepted.
    private(set) var unansweredArrivals = 0

    /// Notes a push that is being sent, and returns its number.
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

    /// The moment from which a push's latency counts; nil if its page is freed.
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

    /// The connection ended before the answer: the push may have been accepted or not.
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

    /// A push arrived at a device.
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

    /// Stops expecting pushes that are not stored and whose device's link has ended since they were sent.
    /// `hasLinkEnded` says whether it has, for a device and a moment.
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

    /// The lost pushes, which were accepted, had to arrive and did not: how many there are, and the first `most` of
    /// them.
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

/// Tells allowed copies from mistakes. When a link is cut, the relay does not know the last acknowledgements and sends
/// those pushes again ("at least once"). Any other copy is a mistake.
struct DuplicateClassifier {
    /// The last pushes that arrived over the current link, as many as a relay sends without an acknowledgement.
    private var recent: [UInt64] = []
    private var next = 0
    /// The last pushes that arrived over links that were cut.
    private var doubtful: Set<UInt64> = []
    private let window: Int

    /// For a relay that sends at most `window` notifications without an acknowledgement.
    init(window: Int) { self.window = window }

    /// A push arrived over the current link, for the first time or not.
    mutating func arrived(_ number: UInt64) {
        if recent.count < window {
            recent.append(number)
        } else {
            recent[next] = number
            next = (next + 1) % window
        }
    }

    /// Whether a copy of a push is allowed on the current link: once for each link that was cut.
    mutating func allows(copyOf number: UInt64) -> Bool { doubtful.remove(number) != nil }

    /// The link has ended. `isOrderly`: the relay had taken every acknowledgement before.
    mutating func linkEnded(isOrderly: Bool) {
        // The relay sends what it repeats first. Once the link has carried a window of deliveries, no older push can
        // come again.
        if recent.count >= window { doubtful.removeAll() }
        if !isOrderly { doubtful.formUnion(recent) }
        recent.removeAll(keepingCapacity: true)
        next = 0
    }
}
