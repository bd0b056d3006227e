// The file of `cumulus login`: where it is, what stands in it, and who can read it.

import CumulusModel
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct ClientFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "login-\(UUID())")

    @Test(
        arguments: [
            (["HOME": "/h"], nil, "/h/.config/cumulus/client.json"),
            (["HOME": "/h", "XDG_CONFIG_HOME": ""], nil, "/h/.config/cumulus/client.json"),
            (["HOME": "/h", "XDG_CONFIG_HOME": "/x"], nil, "/x/cumulus/client.json"),
            (["XDG_CONFIG_HOME": "/x", "CUMULUS_CLIENT_FILE": "/c"], nil, "/c"),
            (["CUMULUS_CLIENT_FILE": "/c"], "/f", "/f"),
        ] as [([String: String], String?, String)]
    )
    func itIsWhereAppsLook(variables: [String: String], named: String?, path: String) throws {
        let found = try Setting.$variables.withValue(variables) { try ClientFile(named).path }
        #expect(found == path)
    }

    @Test func withoutAHomeItMustBeNamed() {
        let problem = #expect(throws: UsageProblem.self) {
            try Setting.$variables.withValue([:]) { try ClientFile() }
        }
        #expect(problem?.message.contains("--file") == true)
    }

    @Test func onlyItsOwnerReadsIt() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try Setting.$variables.withValue(["XDG_CONFIG_HOME": folder.path]) {
            try ClientFile()
        }
        try file.prepare()
        var settings = ClientFile.Settings(
            endpoints: ["a:1", "b:2"],
            container: "iCloud.x",
            environment: .production,
            token: "cumulus_1",
            tls: "always",
            authority: ""
        )
        try file.write(settings)
        settings.token = "cumulus_2"
        try file.write(settings)
        let data = try #require(FileManager.default.contents(atPath: file.path))
        #expect(
            try JSONDecoder().decode([String: String].self, from: data) == [
                "endpoint": "a:1,b:2", "container": "iCloud.x", "environment": "production",
                "token": "cumulus_2", "tls": "always",
            ]
        )
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let read = try #require(try file.read())
        #expect(read.json == settings.json && read.endpoints == ["a:1", "b:2"])
        #expect(try file.remove())
        #expect(try !file.remove())
        #expect(try file.read()?.token == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    /// Only the folder of the standard file is made.
    @Test func aFileThatIsNamedNeedsItsFolder() throws {
        let problem = #expect(throws: OutputProblem.self) {
            try ClientFile("\(folder.path)/client.json").prepare()
        }
        #expect(problem?.message.contains("there is no folder \(folder.path); make it") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test(arguments: ["", "[]", #"{"token": 1}"#, #"{"endpoint": "a:1", "container": "c"}"#])
    func whatNoLoginWroteIsRefused(text: String) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = try ClientFile("\(folder.path)/client.json")
        try Data(text.utf8).write(to: URL(filePath: file.path))
        let problem = #expect(throws: InputProblem.self) { try file.read() }
        #expect(problem?.message.contains("remove it by hand") == true)
    }
}
