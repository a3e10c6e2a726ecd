import FoundationEssentials
import PostriderNotifications
import PostriderSystem

extension Machine {
    /// Looks at the descriptors that a process may have.
    package func look(at need: DescriptorNeed) -> [Finding] {
        do throws(CommandFailure) {
            try need.check(descriptors)
            return []
        } catch {
            return [
                .failure(
                    "nofile",
                    "\(unit ?? "a process of this session") may have \(descriptors) files open, and "
                        + "\(need.name) needs at least \(need.own + need.least)",
                    "Raise LimitNOFILE= in its unit, --ulimit nofile= of its container, or ulimit -Hn"
                )
            ]
        }
    }

    /// Whether the clock shows a time before 2025, when there was no version of this program.
    package var isBeforeThisProgram: Bool { now < 1_735_689_600 }

    /// Looks at the clock.
    package func lookAtClock() -> [Finding] {
        if isBeforeThisProgram {
            return [
                .failure(
                    "clock",
                    "it is \(Listing.time(Int64(now) * 1000)) by the clock of this machine, so that "
                        + "certificates and provider tokens are refused",
                    "Set the clock, and let it be synchronised by chrony or systemd-timesyncd")
            ]
        }
        guard isClockSynchronised == false else { return [] }
        return [
            .warning(
                "clock",
                "the kernel says that nothing synchronises the clock, and provider tokens are refused "
                    + "if it is wrong by more than an hour",
                "Start chrony or systemd-timesyncd; a container has the clock of its host")
        ]
    }

    /// Looks at the settings of the kernel that bound the number of connections.
    package func lookAtKernel() -> [Finding] {
        let least = [
            ("net/core/somaxconn", 1024, "connections that wait to be accepted: more are dropped in a storm"),
            ("net/ipv4/tcp_max_syn_backlog", 512, "connections whose TCP handshake is under way"),
            (
                "net/netfilter/nf_conntrack_max", 65_536,
                "connections that the firewall follows: it drops more"
            ),
            ("fs/nr_open", 65_536, "files of one process, which bounds LimitNOFILE="),
        ]
        return least.compactMap { name, least, meaning in
            guard let number = number(name), number < least else { return nil }
            let setting = name.replacing("/", with: ".")
            return .warning(
                "sysctl \(setting)", "it allows \(number) \(meaning)",
                "Write '\(setting) = \(least)' to a file in /etc/sysctl.d, and run sysctl --system"
            )
        }
    }

    /// Looks at the directory in which a service stores what must not be lost, and at its disk.
    package func look(atStore directory: String) -> [Finding] {
        let files = FileManager.default
        guard let access = MachineFacts.access(to: directory) else {
            let parent = URL(filePath: directory).deletingLastPathComponent().path
            guard files.isWritableFile(atPath: parent) else {
                return [
                    .failure(
                        directory, "it is not there, and this user cannot make it in \(parent)",
                        "Make it for the service's user with mode 0700, or run this as that user")
                ]
            }
            return look(atDiskOf: parent)
        }
        guard access.isDirectory else {
            return [.failure(directory, "it is not a directory", "Name another one, or move the file away")]
        }
        let (owner, mode) = (access.owner, access.mode & 0o777)
        if user != 0, owner != user {
            return [
                .failure(
                    directory, "it belongs to user \(owner), and this is user \(user)",
                    "Run this as the service's user, or chown the directory to it")
            ]
        }
        var findings: [Finding] = []
        if mode & 0o022 != 0 {
            findings.append(
                .failure(
                    directory, "other users may write to it (mode 0\(String(mode, radix: 8)))", "chmod 0700"))
        } else if mode & 0o055 != 0 {
            findings.append(
                .warning(
                    directory, "other users may look into it (mode 0\(String(mode, radix: 8)))", "chmod 0700")
            )
        }
        let names = (try? files.contentsOfDirectory(atPath: directory))?.sorted() ?? []
        let stray = names.first { name in
            MachineFacts.access(to: directory + "/" + name).map { $0.owner != owner } ?? false
        }
        if let stray {
            findings.append(
                .failure(
                    directory + "/" + stray, "it does not belong to user \(owner), as its directory does",
                    "chown it; a command that was run as another user may have made it"))
        }
        return findings + look(atDiskOf: directory)
    }

    private func look(atDiskOf directory: String) -> [Finding] {
        var findings: [Finding] = []
        if let system = fileSystem(directory) {
            if system.isRemote {
                findings.append(
                    .failure(
                        directory, "it is on a file system of another machine, where SQLite loses data",
                        "Put it on a disk of this machine"))
            }
            if system.freeFiles == 0 {
                findings.append(
                    .failure(directory, "its file system has no inode left", "Remove files there"))
            }
            if system.freeBytes < 64 << 20 {
                findings.append(
                    .failure(
                        directory, "its disk has \(system.freeBytes >> 20) MiB left", "Make room, or move it")
                )
            } else if system.freeBytes < 1 << 30 {
                findings.append(
                    .warning(
                        directory, "its disk has only \(system.freeBytes >> 20) MiB left",
                        "Make room, or move it"))
            }
        }
        do {
            let time = try syncMilliseconds(directory)
            guard time > 30 else { return findings }
            findings.append(
                .warning(
                    directory, "its disk needs \(time) ms to sync 4 KiB, for which each provider waits",
                    "Use a disk whose write cache survives a power failure, such as a server's SSD"
                ))
        } catch {
            findings.append(
                .failure(directory, "a probe file failed: \(error)".withoutStop, "Repair the disk"))
        }
        return findings
    }
}

extension String {
    /// The sentence without its full stop.
    package var withoutStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
