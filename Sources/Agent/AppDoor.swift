import Endpoints
import Notifications
import Transport

/// The app socket: lets processes of this device in, so many of each user.
final class AppDoor {
    let desk: AppDesk
    let owner: OwnerDesk
    let log: Log
    /// The users whose processes may be an input method.
    var keyboardUsers: Set<UInt32> = [0, UserAccount.own]
    private var sessions: [ObjectIdentifier: AppSession] = [:]
    private var listener: Listener?

    init(desk: AppDesk, owner: OwnerDesk, log: Log) {
        self.desk = desk
        self.owner = owner
        self.log = log
    }

    /// Listens on a loop. Everybody may connect: what one may have is told by who one is.
    func open(_ address: SocketAddress, on loop: EventLoop) throws(TransportError) {
        listener = try loop.listen(address, mode: 0o666) { [unowned self] peer in
            peer.credentials.flatMap { admit($0.user) }?.endpoint
        }
    }

    /// Lets nobody in any more, and everybody out.
    func close() {
        listener?.close()
        listener = nil
        for session in sessions.values { session.endpoint.close(.localClose) }
    }

    /// A session for a process of this user; nil when the user has too many.
    func admit(_ user: UInt32) -> AppSession? {
        guard sessions.values.count(where: { $0.user == user }) < Limits.appConnectionsPerUser else {
            log.notice("user \(user) has too many connections to the app socket")
            return nil
        }
        return AppSession(user: user, door: self)
    }

    func opened(_ session: AppSession) { sessions[ObjectIdentifier(session)] = session }

    func closed(_ session: AppSession) { sessions[ObjectIdentifier(session)] = nil }
}
