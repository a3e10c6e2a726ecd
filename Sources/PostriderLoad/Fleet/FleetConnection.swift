import PostriderHTTP2
import PostriderTransport

/// One connection of the fleet: an HTTP/2 session on a connection. It is kept small, because there are thousands. It
/// counts bytes, and reads the clock once for everything that arrives together.
class FleetConnection: ConnectionHandler, SessionHandler {
    private let meter: WorkerMeter
    private(set) lazy var streams = HTTP2Connection(
        role: .client, settings: settings, handler: self)
    private(set) var wire: (any ConnectionOutput)?
    private let settings: SessionSettings

    init(_ meter: WorkerMeter, settings: SessionSettings) {
        self.meter = meter
        self.settings = settings
    }

    /// Asks for a flush at the end of the turn.
    func setNeedsFlush() { wire?.setNeedsFlush() }

    /// Ends the connection with GOAWAY.
    func close() {
        guard let wire else { return }
        streams.goaway()
        wire.close(.localClose)
    }

    // MARK: What subclasses override

    /// The connection is established.
    func opened() {}
    /// The connection is about to be flushed: the last moment to add something.
    func prepareFlush() {}
    /// The connection is gone.
    func ended(_ reason: CloseReason) {}

    // MARK: ConnectionHandler

    final func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        meter.tally.connections += 1
        meter.readClock()
        opened()
        wire.setNeedsFlush()
    }

    final func received(_ bytes: Span<UInt8>) {
        meter.tally.bytesReceived += UInt64(bytes.count)
        meter.readClock()
        do throws(SessionError) {
            try streams.receive(bytes)
            if streams.isFinished { wire?.close(.peerClosed) }
        } catch {
            wire?.close(.protocolError(error.description))
        }
        if streams.wantsToSend { wire?.setNeedsFlush() }
    }

    final func inputEnded() { wire?.close(.peerClosed) }

    final func flush(into output: inout [UInt8]) {
        let start = output.count
        prepareFlush()
        streams.drain(into: &output)
        meter.tally.bytesSent += UInt64(output.count - start)
        if streams.wantsToSend { wire?.setNeedsFlush() }
    }

    final func closed(_ reason: CloseReason) {
        wire = nil
        streams.end()
        ended(reason)
    }

    // MARK: SessionHandler

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {}
    func data(_ stream: Int32, _ bytes: Span<UInt8>) {}
    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func settingsReceived(maxConcurrentStreams: UInt32) {}
    func pingAcknowledged() {}
    func settingsAcknowledged() {}
    func writable(_ stream: Int32) {}
}
