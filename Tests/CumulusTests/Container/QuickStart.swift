import Cumulus

func quickStart(_ configuration: Container.Configuration) async throws -> FieldValue? {
    let container = Container(identifier: "iCloud.dev.cumulus", configuration: configuration)
    let database = container.privateCloudDatabase
    var note = Record(recordType: "Note")
    note["title"] = "Hello"
    note["tags"] = ["first", "tried"]
    let saved = try await database.save(note)
    let fetched = try await database.record(for: saved.recordID)
    await container.close()
    return fetched["title"]
}
