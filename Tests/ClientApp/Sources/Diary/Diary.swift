// A diary on two devices of one user: what an app does with a server, and what must come of it.
//
// Run by `main.swift`. Each step says what it has seen, or throws.

import Cumulus
import Foundation

struct Diary {
    let phone: Container
    let tablet: Container

    struct Mistake: Error {
        let message: String
    }

    init(endpoint: String, token: String, folder: URL) {
        func device(_ name: String) -> Container {
            var configuration = Container.Configuration(endpoints: [endpoint])
            configuration.accessToken = token
            configuration.deviceID = name
            configuration.timeout = .seconds(20)
            configuration.assetDirectory = folder.appending(path: name).path(percentEncoded: false)
            return Container(identifier: "iCloud.dev.cumulus", configuration: configuration)
        }
        phone = device("phone")
        tablet = device("tablet")
    }

    func close() async {
        await phone.close()
        await tablet.close()
    }

    private func check(_ isTrue: Bool, _ message: @autoclosure () -> String) throws {
        if !isTrue { throw Mistake(message: message()) }
    }

    private func page(_ name: String, _ text: String) -> Record {
        var page = Record(recordType: "Page", recordID: Record.ID(recordName: name))
        page["text"] = .string(text)
        page["words"] = .int64(Int64(text.split(separator: " ").count))
        return page
    }

    // MARK: Records

    func save() async throws -> String {
        let database = phone.privateCloudDatabase
        let saved = try await database.save(page("first", "Rain all day"))
        try check(saved.recordChangeTag != nil, "the saved record has no change tag")
        _ = try await database.save(page("second", "Sun"))
        return "saved two pages"
    }

    func fetch() async throws -> String {
        let id = Record.ID(recordName: "first")
        let page = try await tablet.privateCloudDatabase.record(for: id)
        try check(page["text"] == .string("Rain all day"), "another text: \(page)")
        try check(page["words"] == .int64(3), "another number: \(page)")
        return "fetched a page"
    }

    func query() async throws -> String {
        let long = try Query.Predicate(format: "words > 2")
        let found = try await tablet.privateCloudDatabase.records(
            matching: Query(recordType: "Page", predicate: long)
        ).matchResults
        let names = found.map(\.0.recordName)
        try check(names == ["first"], "found \(names)")
        return "found a page"
    }

    // MARK: The feed

    func follow() async throws -> String {
        let long = try Query.Predicate(format: "words > 2")
        let kind = Subscription.Kind.query(recordType: "Page", predicate: long)
        _ = try await tablet.privateCloudDatabase.save(Subscription(id: "long", kind: kind))
        var pages = tablet.notifications(since: nil).makeAsyncIterator()
        // The feed begins with a page that says so.
        while let page = try await pages.next(), !page.isUpToDate {}
        _ = try await phone.privateCloudDatabase.save(page("third", "Snow on the hills"))
        while let page = try await pages.next() {
            guard let first = page.notifications.first else { continue }
            guard case .record(let news) = first.news, news.recordID.recordName == "third" else {
                throw Mistake(message: "told of something else: \(first.news)")
            }
            return "was told of a page"
        }
        throw Mistake(message: "the feed has ended")
    }

    // MARK: Files

    /// - Parameter isText: It can be compressed, which the server must have done.
    func send(_ file: URL, isText: Bool = false) async throws -> String {
        let content = try Data(contentsOf: file)
        var page = page(file.lastPathComponent, "With a file")
        page["file"] = .asset(Asset(fileURL: file))
        _ = try await phone.privateCloudDatabase.save(page)

        let database = tablet.privateCloudDatabase
        let fetched = try await database.record(for: page.recordID)
        guard case .asset(let asset)? = fetched["file"] else {
            throw Mistake(message: "the record has no file: \(fetched)")
        }
        guard let copy = try await database.download(asset).fileURL else {
            throw Mistake(message: "the download is no file")
        }
        try check(try Data(contentsOf: copy) == content, "other bytes came back")
        let stored = try await database.status(of: asset).storedBytes
        let most = isText ? content.count / 2 : content.count
        try check(stored <= most, "the server keeps \(stored) bytes of \(content.count)")
        return "sent and got \(content.count) bytes, of which the server keeps \(stored)"
    }
}
