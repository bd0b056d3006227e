// Holds the folders of the sources to their rule: a folder is one feature, small enough to read,
// and its leading file says what it is for.

import Foundation
import Testing

@Suite struct FolderTests {
    /// As many files as a reader takes in at one look.
    private static let mostFiles = 12
    /// A file is one idea; a longer one says in its head why.
    private static let mostLines = 450
    /// The node is read most.
    private static let mostLinesOfNode = 350
    private static let sign = "// Folder: "

    /// The files of each folder below `Sources`: Swift, and what is for browsers.
    private static func folders() throws -> [String: [SourceFile]] {
        Dictionary(grouping: try SourceTree.sources() + SourceTree.pages()) { file in
            file.path.split(separator: "/").dropLast().joined(separator: "/")
        }
    }

    private static func isTarget(_ folder: String) -> Bool {
        folder == SourceTree.targetFolder(folder)
    }

    @Test func noFolderIsAHall() throws {
        for (folder, files) in try Self.folders() {
            #expect(files.count <= Self.mostFiles, "\(folder) holds \(files.count) files")
        }
    }

    @Test func noFileIsLong() throws {
        for file in try SourceTree.sources() + SourceTree.pages() {
            let limit = file.target == "CumulusNode" ? Self.mostLinesOfNode : Self.mostLines
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
            #expect(lines <= limit, "\(file.path) has \(lines) lines")
        }
    }

    /// A target is either one folder, or all of its files are in folders.
    @Test func noFileStandsBesideFolders() throws {
        let folders = try Self.folders()
        for (folder, files) in folders where Self.isTarget(folder) {
            let inner = folders.keys.filter { $0.hasPrefix(folder + "/") }
            #expect(inner.isEmpty, "\(files.map(\.path)) belong into a folder")
        }
    }

    @Test func oneFileOfEachFolderLeads() throws {
        for (folder, files) in try Self.folders() where !Self.isTarget(folder) {
            let leading = files.filter { $0.text.contains(Self.sign) }
            #expect(leading.count == 1, "\(folder) is led by \(leading.map(\.name))")
            let names = Set(files.map { $0.name.replacing(".swift", with: "") })
            for file in leading {
                let named = Self.paragraph(of: file).matches(of: /`([^`]+)`/).map {
                    String($0.output.1)
                }
                #expect(!named.isEmpty, "\(file.path) names no file to read")
                #expect(named.filter { !names.contains($0) } == [], "\(file.path)")
            }
        }
    }

    /// The article Design has a row for each target with folders, which names them and no others.
    @Test func designNamesEveryFolder() throws {
        let article = try String(
            contentsOf: SourceTree.root.appending(
                path: "Sources/CumulusNode/CumulusNode.docc/Design.md"
            ),
            encoding: .utf8
        )
        let table = article.split(separator: "\n| target | what it is | folders |\n").last ?? ""
        #expect(table.count < article.count)
        var named: [Substring: Set<String>] = [:]
        for row in table.matches(of: /\n\| `([A-Za-z]+)` \| ([^\n]+)/) {
            named[row.output.1] = Set(
                row.output.2.matches(of: /`(\w+)`/).map { String($0.output.1) }
            )
        }
        let paths = try Self.folders().keys.map { $0.split(separator: "/").dropFirst() }
            .filter { $0.count > 1 && $0.first != "Examples" }
        for path in paths {
            let names = named[path[1]] ?? []
            #expect(names.contains(String(path[2])), "\(path.joined(separator: "/"))")
        }
        for (target, names) in named {
            let folders = Set(paths.filter { $0.first == target }.joined().map(String.init))
            #expect(names.subtracting(folders) == [], "\(target)")
        }
    }

    /// The paragraph of a file's head that speaks of the folder.
    private static func paragraph(of file: SourceFile) -> String {
        let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.drop { !$0.hasPrefix(sign) }.prefix { $0.hasPrefix("// ") }
            .joined(separator: " ")
    }
}
