/// What a loop has to do later in the turn, or in the next one.
struct TurnWork {
    /// A handler whose connection is gone, and why.
    typealias Departure = (session: any ConnectionHandler, reason: CloseReason)

    /// An output buffer that grew beyond this many bytes is released.
    private static let keptOutputCapacity = 1024 * 1024

    /// Mailboxes with messages.
    private var rung: [any MessageSource] = []
    /// Connections with input that epoll does not report, because TLS has it.
    private var unread: [WatchTable.Token] = []
    /// Handlers that are to be told that their connection is gone.
    private var departed: [Departure] = []
    /// Connections that asked for a flush.
    private var dirty: [WatchTable.Token] = []
    /// Connections whose epoll interest may have changed.
    private var interestChanged: [WatchTable.Token] = []
    private var spareTokens: [WatchTable.Token] = []
    private var output: [UInt8] = []

    /// Whether nothing is left for the next turn.
    var isEmpty: Bool { unread.isEmpty && dirty.isEmpty && departed.isEmpty && interestChanged.isEmpty }

    mutating func add(rung source: any MessageSource) { rung.append(source) }
    mutating func add(unread token: WatchTable.Token) { unread.append(token) }
    mutating func add(departed session: any ConnectionHandler, _ reason: CloseReason) {
        departed.append((session, reason))
    }
    mutating func add(dirty token: WatchTable.Token) { dirty.append(token) }
    mutating func add(interestChanged token: WatchTable.Token) { interestChanged.append(token) }

    mutating func takeRung() -> [any MessageSource] { Self.take(&rung) }
    mutating func takeUnread() -> [WatchTable.Token] { Self.take(&unread) }
    mutating func takeDeparted() -> [Departure] { Self.take(&departed) }

    private static func take<Item>(_ items: inout [Item]) -> [Item] {
        guard !items.isEmpty else { return [] }
        var taken: [Item] = []
        swap(&taken, &items)
        return taken
    }

    /// Moves the connections that asked for a flush and the loop's output buffer out, and back with
    /// ``endFlush(_:_:)``. Connections that ask during the flush are flushed in the next turn.
    ///
    /// - Returns: whether any connection asked for a flush.
    mutating func beginFlush(_ batch: inout [WatchTable.Token], _ buffer: inout [UInt8]) -> Bool {
        guard !dirty.isEmpty else { return false }
        swap(&batch, &spareTokens)
        swap(&batch, &dirty)
        swap(&buffer, &output)
        return true
    }

    /// Takes the storage of ``beginFlush(_:_:)`` back, for the next flush.
    mutating func endFlush(_ batch: inout [WatchTable.Token], _ buffer: inout [UInt8]) {
        if buffer.capacity > Self.keptOutputCapacity { buffer = [] }
        swap(&buffer, &output)
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &spareTokens)
    }

    /// Calls `body` with each connection whose interest may have changed. It must not add one.
    mutating func drainInterests(_ body: (WatchTable.Token) -> Void) {
        for token in interestChanged { body(token) }
        interestChanged.removeAll(keepingCapacity: true)
    }
}
