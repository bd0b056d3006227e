// Assets by the command line, with real processes and a real disk: interrupted on both ways, and
// after files were lost. `cluster/chaos transfer` takes a larger file.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct AssetCommandTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    /// A file of bytes that don't compress.
    private func file(_ name: String, megabytes: Int) throws -> String {
        let path = "\(folder.path)/\(name)"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        let random = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
        for _ in 0..<megabytes {
            try file.write(contentsOf: random.read(upToCount: 1 << 20) ?? Data())
        }
        try file.close()
        return path
    }

    private func variables(_ node: NodeProcess) async throws -> [String: String] {
        ["CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken()]
    }

    private func bytes(_ file: String) throws -> Data {
        try Data(contentsOf: URL(filePath: file), options: .alwaysMapped)
    }

    /// A node that takes the file.
    private func startNode(port: Int = 0) async throws -> NodeProcess {
        try await NodeProcess.ready(
            data: folder.node,
            port: port,
            arguments: ["--limits", "assetBytes=\(max(1 << 30, Chaos.megabytes << 20))"]
        )
    }

    /// What a node may take of memory under transfers.
    private func expectSmall(_ node: NodeProcess) {
        let bytes = node.residentBytes ?? 0
        #expect(bytes < 200 << 20, "\(bytes) bytes of memory")
    }

    /// Waits until an eighth of the file more is on the disk below a folder: something is on its
    /// way just now.
    ///
    /// - Returns: Bytes; nil if nothing came for some seconds.
    private func growth(below path: String, from last: Int) async throws -> Int? {
        for _ in 0..<15_000 {
            let bytes = diskBytes(below: path)
            if bytes > last + Chaos.megabytes << 17 { return bytes }
            try await Task.sleep(for: .milliseconds(2))
        }
        return nil
    }

    private func diskBytes(below path: String) -> Int {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.reduce(0) { $0 + FileStatus.diskBytes("\(path)/\($1)") }
    }

    @Test func filesGoUpAndComeDown() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = try await variables(node)
        func cumulus(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables)
        }
        let photo = try file("photo.jpg", megabytes: 2)
        let put = try await cumulus("asset", "put", "Photo", "front", "image", photo)
        #expect(put.code == 0, "\(put.errors)")
        let again = try await cumulus(
            "record",
            "save",
            "Photo",
            "back",
            "--asset",
            "image=\(photo)",
            "--field",
            "title=Back"
        )
        #expect(again.output.contains("were there already"), "\(again.output)\(again.errors)")
        let copy = "\(folder.path)/copy.jpg"
        let get = try await cumulus("asset", "get", "back", "image", "--output", copy)
        #expect(get.code == 0, "\(get.errors)")
        #expect(try bytes(copy) == bytes(photo))
        #expect(!FileManager.default.fileExists(atPath: copy + ".part"))
        // It is not written over by accident.
        #expect(try await cumulus("asset", "get", "back", "image", "-o", copy).code != 0)
        let info = try await cumulus("asset", "info", "front", "image", "--json")
        #expect(info.output.contains("\"size\": \(2 << 20)"), "\(info.output)")
        #expect(info.output.contains("\"missingChunks\": 0"), "\(info.output)")
        for words in [
            ["asset", "put", "Photo", "x", "image", "/nowhere"],
            ["asset", "put", "Photo", "x", "image", "/"],
            ["asset", "get", "front", "title", "-o", "\(copy)2"],
            ["asset", "get", "nobody", "image", "-o", "\(copy)2"],
            ["asset", "get", "front", "image", "--index", "1", "-o", "\(copy)2"],
        ] {
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code > 0 && !run.errors.isEmpty, "\(words): \(run.output)")
            #expect(!FileManager.default.fileExists(atPath: "\(copy)2"))
        }
    }

    @Test func partsAndOutputsOfAllKinds() async throws {
        let node = try await startNode()
        let variables = try await variables(node)
        func cumulus(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables)
        }
        let photo = try file("photo", megabytes: 9)
        #expect(try await cumulus("asset", "put", "Photo", "p", "image", photo).code == 0)
        let part = "\(folder.path)/part"
        let get = try await cumulus(
            "asset",
            "get",
            "p",
            "image",
            "--range",
            "1000000-8999999",
            "-o",
            part
        )
        #expect(get.code == 0 && get.output.contains("8.0 MB"), "\(get.errors)\(get.output)")
        #expect(try bytes(part) == bytes(photo)[1_000_000..<9_000_000])
        #expect(!FileManager.default.fileExists(atPath: part + ".part"))
        let behind = try await cumulus(
            "asset",
            "get",
            "p",
            "image",
            "--range",
            "99999999-999999999",
            "-o",
            "\(part)2"
        )
        #expect(behind.code == 65 && behind.errors.contains("it has 9437184 bytes"))
        #expect(!FileManager.default.fileExists(atPath: "\(part)2"))
        // Something of that name came in between, or is no file at all.
        let inFolder = try await cumulus(
            "asset",
            "get",
            "p",
            "image",
            "--force",
            "-o",
            folder.path
        )
        #expect(inFolder.code == 65 && inFolder.errors.contains("is a folder"))
        let fifo = "\(folder.path)/fifo"
        mkfifo(fifo, 0o600)
        let pipe = try await cumulus("asset", "put", "Photo", "q", "image", fifo)
        #expect(pipe.code > 0 && pipe.errors.contains("not a file"), "\(pipe.errors)")
        #if os(Linux)
            let cpu = try await cumulus("asset", "put", "Photo", "q", "image", "/proc/cpuinfo")
            #expect(cpu.code > 0 && cpu.errors.contains("copy it into a file"), "\(cpu.errors)")
        #endif
        let nothing = try file("nothing", megabytes: 0)
        #expect(try await cumulus("asset", "put", "Photo", "q", "image", nothing).code == 0)
        let twice = try await cumulus(
            "record",
            "save",
            "Photo",
            "q",
            "--field",
            "image=x",
            "--asset",
            "image=\(photo)"
        )
        #expect(twice.code == 64)
    }

    /// A node with a small file, and its user's variables.
    private func startNodeWithPhoto() async throws -> (NodeProcess, [String: String]) {
        let node = try await startNode()
        let variables = try await variables(node)
        let photo = try file("photo", megabytes: 1)
        let put = ["asset", "put", "Photo", "p", "image", photo]
        #expect(try await CommandLineRun(put, variables: variables).code == 0)
        return (node, variables)
    }

    /// An output that is no file is not replaced by one, and nothing is fetched for it.
    @Test func outputsThatCanNotBeMade() async throws {
        let (node, variables) = try await startNodeWithPhoto()
        let (fifo, link) = ("\(folder.path)/fifo", "\(folder.path)/link")
        let dangling = "\(folder.path)/dangling"
        #expect(mkfifo(fifo, 0o600) == 0)
        #expect(symlink("/dev/null", link) == 0)
        #expect(symlink("nothing", dangling) == 0)
        for output in [fifo, link, dangling, "/dev/null", "\(folder.path)/none/copy"] {
            let get = ["asset", "get", "p", "image", "--force", "--output", output]
            let run = try await CommandLineRun(get, variables: variables)
            #expect(run.code == 74 && run.errors.contains(output), "\(output): \(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: output + ".part"))
        }
        #expect(FileStatus.kind(fifo) == S_IFIFO)
        for path in [link, dangling] { #expect(FileStatus.kind(path) == S_IFLNK) }
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    /// A folder that happens to be called like the one of the parts stays as it is.
    @Test func aFolderOfSomebodyElseIsLeftAlone() async throws {
        let (node, variables) = try await startNodeWithPhoto()
        let copy = "\(folder.path)/copy"
        let letters = copy + ".part/letters"
        let get = ["asset", "get", "p", "image", "--output", copy]
        try FileManager.default.createDirectory(
            atPath: letters,
            withIntermediateDirectories: true
        )
        let refused = try await CommandLineRun(get, variables: variables)
        #expect(refused.code == 74 && refused.errors.contains("the letters in"), "\(refused)")
        #expect(FileManager.default.fileExists(atPath: letters))
        #expect(rmdir(letters) == 0)
        // The leftover of another download is ours, and is removed.
        let rest = String(repeating: "0", count: 64)
        for name in ["boot", rest, rest + ".list", rest + ".part.7", ".dat.nosync2CDE.cWTDRE"] {
            let path = "\(copy).part/\(name)"
            #expect(FileManager.default.createFile(atPath: path, contents: Data([1])))
        }
        let run = try await CommandLineRun(get, variables: variables)
        #expect(run.code == 0, "\(run.errors)")
        #expect(try bytes(copy) == bytes("\(folder.path)/photo"))
        #expect(!FileManager.default.fileExists(atPath: copy + ".part"))
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isPermitted, "only root can mount a disk"))
        func anOutputOnAFullDiskEndsWith74() async throws {
            let disk = try SmallDisk("\(folder.path)/disk", bytes: 8 << 20)
            let node = try await startNode()
            let variables = try await variables(node)
            let movie = try file("movie", megabytes: 16)
            let put = ["asset", "put", "Movie", "m", "file", movie]
            #expect(try await CommandLineRun(put, variables: variables).code == 0)
            let get = ["asset", "get", "m", "file", "--output", "\(disk.path)/copy"]
            let run = try await CommandLineRun(get, variables: variables)
            #expect(run.code == 74 && run.errors.contains("No space left"), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: "\(disk.path)/copy"))
            #expect(try await node.end(SIGTERM) == .exit(0))
        }
    #endif

    /// The node is killed again and again while a file goes up and comes down: both go on.
    @Test func transfersOutliveTheNode() async throws {
        var node = try await startNode(port: TestPort.free())
        let variables = try await variables(node)
        let movie = try file("movie", megabytes: Chaos.megabytes)
        let copy = "\(folder.path)/copy"
        for (words, place) in [
            (["asset", "put", "Movie", "m", "file", movie], "\(folder.node)/assets"),
            (["asset", "get", "m", "file", "--output", copy], copy + ".part"),
        ] {
            async let run = CommandLineRun(words, variables: variables)
            var (moved, kills) = (0, 0)
            while kills < 3, let bytes = try await growth(below: place, from: moved) {
                (moved, kills) = (bytes, kills + 1)
                let port = try node.port
                expectSmall(node)
                node.kill(SIGKILL)
                _ = try await node.waitForEnd()
                node = try await startNode(port: port)
            }
            let ended = try await run
            #expect(ended.code == 0, "\(words): \(ended.errors)")
            // The bytes after the first kill show that it was in the middle.
            #expect(kills > 1, "\(words)")
            expectSmall(node)
        }
        #expect(try bytes(copy) == bytes(movie))
    }

    /// Two commands don't fill the same file, and one that fails leaves nothing behind.
    @Test func anOutputIsForOneCommand() async throws {
        let node = try await startNode()
        let variables = try await variables(node)
        let photo = try file("photo", megabytes: 1)
        let put = ["asset", "put", "Photo", "p", "image", photo]
        #expect(try await CommandLineRun(put, variables: variables).code == 0)
        let copy = "\(folder.path)/copy"
        let get = ["asset", "get", "p", "image", "--output", copy]
        mkdir(copy + ".part", 0o700)
        let lock = open(copy + ".part", O_RDONLY | O_CLOEXEC)
        #expect(flock(lock, LOCK_EX) == 0)
        let second = try await CommandLineRun(get, variables: variables)
        #expect(second.code > 0 && second.errors.contains("another command"), "\(second.errors)")
        close(lock)
        let nothing = ["asset", "get", "q", "image", "--output", copy]
        #expect(try await CommandLineRun(nothing, variables: variables).code > 0)
        #expect(!FileManager.default.fileExists(atPath: copy + ".part"))
        #expect(try await CommandLineRun(get, variables: variables).code == 0)
        #expect(try bytes(copy) == bytes(photo))
    }

    /// The client is killed instead, at random moments; what came stays for the next one.
    @Test func aClientThatWasKilledGoesOn() async throws {
        let node = try await startNode()
        let variables = try await variables(node)
        let movie = try file("movie", megabytes: Chaos.megabytes)
        let copy = "\(folder.path)/copy"
        for (words, place) in [
            (["asset", "put", "Movie", "m", "file", movie], "\(folder.node)/assets"),
            (["asset", "get", "m", "file", "--output", copy], copy + ".part"),
        ] {
            var (moved, kills) = (0, 0)
            for _ in 0..<3 {
                let process = try ChildProcess(
                    [try ChildProcess.builtProgram("cumulus")] + words,
                    variables: variables,
                    output: "\(folder.path)/out",
                    errors: "\(folder.path)/err"
                )
                if let bytes = try await growth(below: place, from: moved) {
                    (moved, kills) = (bytes, kills + 1)
                }
                process.kill(SIGKILL)
                _ = try await process.waitForEnd(seconds: 10)
                // Never a half file.
                if FileManager.default.fileExists(atPath: copy) {
                    #expect(try bytes(copy) == bytes(movie))
                    try FileManager.default.removeItem(atPath: copy)
                }
            }
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code == 0, "\(words): \(run.errors)")
            #expect(kills > 1, "\(words)")
            expectSmall(node)
        }
        #expect(try bytes(copy) == bytes(movie))
    }

    /// A single node that lost its packs says so, starts, and takes the file anew.
    @Test func aNodeWithoutItsPacksSaysSo() async throws {
        var node = try await NodeProcess.ready(data: folder.node)
        var variables = try await variables(node)
        let photo = try file("photo", megabytes: 2)
        let put = ["asset", "put", "Photo", "p", "image", photo]
        #expect(try await CommandLineRun(put, variables: variables).code == 0)
        _ = try await node.end(SIGTERM)
        try FileManager.default.removeItem(atPath: "\(folder.node)/assets")
        // Nobody else has them: it doesn't go on without being told.
        let blind = try NodeProcess(data: folder.node)
        try await #expect(blind.waitForEnd() == .exit(1))
        #expect(blind.errors.contains("--lost-assets"), "\(blind.errors)")
        node = try await NodeProcess.ready(data: folder.node, arguments: ["--lost-assets"])
        variables["CUMULUS_ENDPOINT"] = try node.endpoint
        let copy = "\(folder.path)/copy"
        let get = ["asset", "get", "p", "image", "--timeout", "100", "--output", copy]
        let start = Date()
        let refused = try await CommandLineRun(get, variables: variables)
        #expect(refused.code > 0 && refused.errors.contains("not whole"), "\(refused.errors)")
        #expect(Date().timeIntervalSince(start) < 50, "it waited for what nobody has")
        #expect(try await CommandLineRun(put, variables: variables).code == 0)
        #expect(try await CommandLineRun(get, variables: variables).code == 0)
        #expect(try bytes(copy) == bytes(photo))
    }
}
