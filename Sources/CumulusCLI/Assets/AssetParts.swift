// The parts of an unfinished download: FILE.part, a folder beside the output, for one command at a
// time.
//
// Somebody may have a folder of that name. One that holds anything else than what downloads leave
// is refused, and only files with their names are removed, one by one.

import CumulusSystem
import CumulusTerminal

struct AssetParts {
    let folder: String
    private let output: String
    /// Holds the lock on the folder as long as it is open.
    private let descriptor: Int32

    /// Takes the folder of an output that was checked.
    init(for output: String) throws {
        self.output = output
        folder = output + ".part"
        _ = mkdir(folder, 0o700)
        descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OutputProblem("\(folder) can't be made: \(String(cString: strerror(errno)))")
        }
        do {
            try lock()
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func lock() throws {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw InputProblem("another command is getting \(output); wait for it, or end it")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        if let other = names.sorted().first(where: { !isOurs($0) }) {
            throw OutputProblem(
                "\(folder) can't be used: no download made the \(other) in it; name another file"
            )
        }
    }

    // MARK: The output

    /// Throws if the download could not become the output.
    ///
    /// It is better to know that before anything is fetched.
    static func check(_ output: String, replaces: Bool) throws {
        var status = stat()
        guard stat(output, &status) == 0 else {
            let problem = errno
            if lstat(output, &status) == 0 {
                throw OutputProblem("\(output) is a symbolic link that leads nowhere")
            }
            if problem == ENOENT { return }
            throw OutputProblem("\(output) can't be made: \(String(cString: strerror(problem)))")
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            if !replaces { throw InputProblem("\(output) exists; name another file, or --force") }
        case S_IFDIR: throw InputProblem("\(output) is a folder")
        default: throw OutputProblem("\(output) is there and not a file; name another one")
        }
    }

    // MARK: The parts

    /// A file for part of an asset.
    var piece: String { "\(folder)/\(AssetParts.pieceName)" }

    private static let pieceName = "piece"

    /// Whether that is a file, and of a name that downloads leave.
    private func isOurs(_ name: String) -> Bool {
        var status = stat()
        return lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && AssetParts.isOursByName(name)
    }

    /// Whether it is the piece, or what the client's cache makes.
    private static func isOursByName(_ name: String) -> Bool {
        // Foundation's name for a file that is not whole: a process was killed while it wrote it.
        if name.hasPrefix(".dat.nosync") { return true }
        if name == pieceName || name == "boot" { return true }
        let words = name.split(separator: ".", omittingEmptySubsequences: false)
        guard words[0].count == 64, words[0].allSatisfy(\.isHexDigit) else { return false }
        switch words.count {
        case 1: return true
        case 2: return words[1] == "list" || words[1] == "part"
        // A process that came second uses this form.
        case 3: return words[1] == "part" && Int32(words[2]) != nil
        default: return false
        }
    }

    /// Writes part of an asset to its file.
    func write(_ body: (OpenFile) async throws -> UInt64) async throws -> UInt64 {
        guard let file = try? OpenFile(emptying: piece) else {
            throw OutputProblem("\(piece) can't be written")
        }
        return try await body(file)
    }

    /// Gives the file its name; what stands there by now is replaced only if that is wanted.
    func finish(_ file: String, replaces: Bool) throws {
        let mask = umask(0)
        umask(mask)
        chmod(file, 0o666 & ~mask)
        guard replaces ? rename(file, output) == 0 : link(file, output) == 0 else {
            let why = String(cString: strerror(errno))
            throw OutputProblem("\(output) can't be made: \(why); what came stays in \(folder)")
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where isOurs(name) { unlink("\(folder)/\(name)") }
    }

    /// Received parts stay for the next try; an empty folder is removed.
    func leave() {
        unlink(piece)
        rmdir(folder)
        close(descriptor)
    }
}
