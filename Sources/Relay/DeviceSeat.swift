import Courier
import Notifications

/// A device's place at its home: the device, the connection that it keeps open, and its requests to the
/// registry, which are worked off one after the other.
final class DeviceSeat {
    /// What a device asks of the registry; the topic is text as it came.
    enum Request {
        case register(String, Environment)
        case unregister(String)
        case subscribe(Subscribe)
        case unsubscribe(ChannelIdentity)
    }

    var device: Device
    /// The connection, once it has been welcomed; nil while the device is away.
    var session: DeviceSession?
    /// Requests that have not been answered; the first is with the ledger.
    var requests: [(request: Request, session: DeviceSession)] = []
    /// What it may report to the trace.
    var unreported = ReportAllowance()

    /// Whose place it is.
    var identity: DeviceIdentity { device.record.identity }

    init(_ record: DeviceRecord) { device = Device(record) }

    /// A connection is over, and nobody waits for the answers to what it still asks. What is with the ledger goes
    /// its way.
    func forgetRequests(of session: DeviceSession) {
        guard let first = requests.first else { return }
        requests = [first] + requests.dropFirst().filter { $0.session !== session }
    }
}

/// How much a device may write into the trace: three reports for each notification that it was sent, so that nobody can
/// push out the lives of others' pushes.
struct ReportAllowance {
    /// Those of before the relay was started may be reported, too: a window of them.
    private(set) var left = Limits.deliveryWindow * Limits.reportsPerNotification

    /// A notification was sent.
    mutating func earn() {
        left = min(left + Limits.reportsPerNotification, Limits.unreported * Limits.reportsPerNotification)
    }

    /// One is reported. False: that is more than there can be.
    mutating func spend() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
