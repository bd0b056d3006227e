// The files that the console's pages are made of: plain HTML, CSS and ES modules, in the binary.
//
// `Console` serves them under their whole paths. They load nothing from elsewhere. A module writes
// data into pages as text nodes only.
//
// Folder: the console's side in the browser. Read `ConsoleFile`, `AppFile`, which shows one page at
// a time, and `KitFile`, then any page, such as `SchemaFile`.

struct ConsoleFile: Sendable {
    let type: String
    let text: String

    private static let html = "text/html; charset=utf-8"
    private static let css = "text/css; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    /// By the paths of their URLs.
    static let all: [String: ConsoleFile] = [
        "/console": ConsoleFile(type: html, text: index),
        "/console/": ConsoleFile(type: html, text: index),
        "/console/icon.svg": ConsoleFile(type: "image/svg+xml", text: icon),
        "/console/style.css": ConsoleFile(type: css, text: style),
        "/console/parts.css": ConsoleFile(type: css, text: parts),
        "/console/kit.js": ConsoleFile(type: script, text: kit),
        "/console/api.js": ConsoleFile(type: script, text: api),
        "/console/app.js": ConsoleFile(type: script, text: app),
        "/console/containers.js": ConsoleFile(type: script, text: containers),
        "/console/schema.js": ConsoleFile(type: script, text: schema),
        "/console/records.js": ConsoleFile(type: script, text: records),
        "/console/record.js": ConsoleFile(type: script, text: record),
        "/console/assets.js": ConsoleFile(type: script, text: assets),
        "/console/people.js": ConsoleFile(type: script, text: people),
        "/console/cluster.js": ConsoleFile(type: script, text: cluster),
        "/console/live.js": ConsoleFile(type: script, text: live),
        "/console/plot.js": ConsoleFile(type: script, text: plot),
        "/console/sync.js": ConsoleFile(type: script, text: sync),
    ]
}
