import PostriderNotifications
import PostriderStorage

extension StoreError {
    /// The error for a database to which no connection can be made.
    init(connecting failure: PostgresFailure, to address: DatabaseAddress) {
        let message = failure.message
        let says = "(\(message.isEmpty ? "no reason is given" : message))"
        let isReadOnly = ["read-only", "read only", "hot standby"].contains(where: message.contains)
        let isRefusal = [
            "authentication failed", "no password supplied", "no pg_hba.conf entry", "does not exist",
        ].contains(where: message.contains)
        let isUntrusted = [
            "certificate verify failed", "server certificate", "root certificate", "does not support SSL",
        ].contains(where: message.contains)
        if isUntrusted {
            self.init(
                .unreachable,
                "The database \(address) does not prove by a certificate that it is the right one \(says): "
                    + "correct sslrootcert or the host in 'store', or the certificate of its server.")
        } else if isReadOnly {
            self.init(
                .unreachable,
                "The database \(address) is a standby that can only be read \(says): name the server that "
                    + "accepts changes, or all of them, in 'store'.")
        } else if isRefusal {
            self.init(
                .unreachable,
                "The database \(address) does not let the relay in \(says): correct user, password and "
                    + "database in 'store', or pg_hba.conf on its server.")
        } else {
            self.init(
                .unreachable,
                "The database \(address) cannot be reached \(says): start it, or correct 'store' and the "
                    + "network.")
        }
    }

    /// The error for a statement that failed. Codes are those of PostgreSQL's appendix A.
    init(_ failure: PostgresFailure, at address: DatabaseAddress) {
        let code = failure.state.isEmpty ? failure.message : "\(failure.state): \(failure.message)"
        switch (failure.isLost, failure.state.prefix(2)) {
        case (true, _):
            self.init(
                .inputOutput,
                "The connection to the database \(address) was lost (\(code)): look at its server and the "
                    + "network.")
        case (_, "23"):
            self.init(.conflict, "A change contradicts what the database \(address) already holds (\(code)).")
        // Of the statements that divide by zero on purpose, the others are recognised before.
        case (_, "22") where failure.state == "22012": self = .usedUp
        case (_, "53") where failure.state == "53100":
            self.init(
                .full, "No space is left on the disk of the database \(address) (\(code)): free space there.")
        case (_, "25") where failure.state == "25006":
            self.init(
                .unreachable,
                "The database \(address) is a standby that can only be read (\(code)): name the server that "
                    + "accepts changes, or all of them, in 'store'.")
        case (_, "57") where failure.state == "57014":
            self.init(
                .unreachable,
                "The database \(address) ended a statement before its end (\(code)): look at its load and "
                    + "its time limits.")
        case (_, "42") where failure.state == "42501":
            self.init(
                .unusable,
                "The relay may not do what it must in the database \(address) (\(code)): make its user the "
                    + "owner of the database.")
        case (_, "53"), (_, "57"), (_, "40"), (_, "55"), (_, "08"), (_, "58"):
            self.init(
                .unreachable,
                "The database \(address) accepts no changes now (\(code)): look at its server's log.")
        default:
            self.init(
                .unusable, "The database \(address) cannot be used (\(code)): look at its server's log.")
        }
    }
}
