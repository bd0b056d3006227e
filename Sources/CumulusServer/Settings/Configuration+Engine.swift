// How much of the disk is left to the engine, whether the disk is large enough for that, and how
// much memory the engine has for rows that were read.
//
// `Wiring` asks it before anything is made on the disk. The engine's needs follow from the profile:
// see `MemoryProfile`.

import CumulusSystem
import RocksDBStorage

extension Configuration {
    /// Disk for each file of the audit log; nil if the node keeps none, such as a read-only one.
    func auditBytes() throws -> Int? {
        let megabytes = try self[\.engine.auditMegabytes]
        return try megabytes == 0 || self[\.node.readOnly] ? nil : megabytes << 20
    }

    /// Free bytes below which only deletes are taken; at least what the profile needs.
    func diskReserve() throws -> UInt64 {
        let profile = try self[\.engine.profile]
        guard let reserve = try self[\.engine.reserve].map(UInt64.init) else {
            return profile.reserveBytes
        }
        guard reserve < profile.reserveBytes else { return reserve }
        throw StartProblem(
            \.engine.reserve,
            """
            \(reserve) bytes are too few: with the profile \(profile.rawValue) the engine needs \
            \(profile.reserveBytes) to write and merge its tables and to take deletes; set that \
            or more, or nothing\(Configuration.advice(profile))
            """
        )
    }

    /// Throws where the file system of the data is too small for the profile, or for the reserve.
    func checkDisk() throws {
        let data = self[\.node.data]
        guard let bytes = Files.fileSystemBytes(of: data) else { return }
        let (profile, reserve) = (try self[\.engine.profile], try diskReserve())
        let least = profile.smallestDiskBytes
        guard bytes >= least else {
            throw StartProblem(
                \.node.data,
                """
                the file system of \(data) has \(bytes) bytes, and with the profile \
                \(profile.rawValue) a node needs \(least); choose a larger one\
                \(Configuration.advice(profile))
                """
            )
        }
        guard bytes > reserve else {
            throw StartProblem(
                """
                the file system of \(data) has \(bytes) bytes, fewer than are kept in reserve, \
                so that it counts as full when it is empty; set --disk-reserve to less than \
                \(bytes), or to nothing for what the profile needs
                """
            )
        }
    }

    /// Other advice for a profile that needs too much.
    private static func advice(_ profile: MemoryProfile) -> String {
        if profile == .small { return "" }
        return """
            , or choose --profile small, which needs a reserve of \
            \(MemoryProfile.small.reserveBytes) bytes on a file system of \
            \(MemoryProfile.small.smallestDiskBytes)
            """
    }
}

// MARK: - Memory

extension Kind<Int> {
    /// An amount of memory that this machine has, in bytes.
    static var memory: Kind {
        Kind(unit: "memory") { text throws(StartProblem) in
            let machine = Machine.memoryBytes
            guard let bytes = bytes(text, of: machine) else {
                throw StartProblem(
                    "'\(text)' is no amount of memory; write something like 512MB, 2GB or 25%"
                )
            }
            guard bytes >= 16 << 20, bytes <= machine else {
                throw StartProblem(
                    """
                    \(text) are \(bytes >> 20) MB; write 16MB or more, and less than the \
                    \(machine >> 20) MB that this machine has
                    """
                )
            }
            return Int(bytes)
        }
    }

    private static func bytes(_ text: String, of machine: UInt64) -> UInt64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = UInt64(digits), number <= 1 << 20 else { return nil }
        switch text.dropFirst(digits.count).uppercased() {
        case "%": return number <= 100 ? machine / 100 * number : nil
        case "MB": return number << 20
        case "GB": return number << 30
        default: return nil
        }
    }
}

/// The machine, or the container that the process runs in.
enum Machine {
    /// Bytes of memory that the process may have at most.
    static let memoryBytes: UInt64 = {
        let all = ProcessInfo.processInfo.physicalMemory
        // The file of control groups, version 2; without a limit it contains `max`.
        let limit = try? String(contentsOfFile: "/sys/fs/cgroup/memory.max", encoding: .utf8)
        let bytes = limit.flatMap { UInt64($0.trimmed) }
        return min(all, bytes ?? all)
    }()
}
