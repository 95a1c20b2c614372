"""Results whose provider gives an identifier, or an address in part, in documented shapes with invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolResult
from observers.base import ObserverContext
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
A, B = "https://one.example/a", "https://two.example/b"
RYE = {"title": "Rye", "snippet": "A grass."}
WIKI = "https://en.wikipedia.org"
MAPS = "https://www.google.com/maps/search/?api=1&query=Oven&query_place_id=ChIJoven1234"
TUBE = {"title": "Bake", "description": "d", "channelTitle": "Oven"}


def wiki(**page: Any) -> Any:
    return {"query": {"search": [{"ns": 0, **RYE, **page}]}}


def paper(**identifiers: Any) -> Any:
    return {"results": [{"title": "Rye", "year": 2026, **identifiers}]}


DERIVED: dict[str, tuple[str, Any, str]] = {
    "page of a Wikipedia": ("wikipedia__search", wiki(pageid=7), f"{WIKI}/?curid=7"),
    "pages by number": (
        "wikipedia__search",
        {"query": {"pages": {"7": {"pageid": 7, **RYE}, "8": {"pageid": 8, "title": "Oats", "extract": "e"}}}},
        f"{WIKI}/?curid=7",
    ),
    "page by its key": (
        "wikipedia__search_pages",
        {"pages": [{"id": 3, "key": "Rye_(grass)", "title": "Rye", "excerpt": "e", "thumbnail": None}]},
        f"{WIKI}/wiki/Rye_(grass)",
    ),
    "page by its title": ("x__search_wikipedia", {"results": [RYE]}, f"{WIKI}/wiki/Rye"),
    "page of a wiki that says its host": (
        "wiki__search",
        wiki(pageid=7, server="https://fr.wikipedia.org"),
        "https://fr.wikipedia.org/?curid=7",
    ),
    "item of Wikidata": (
        "wikidata__search",
        {"search": [{"id": "Q5", "title": "Q5", "label": "Rye", "description": "d", "url": "//w.example/Q5"}]},
        "https://w.example/Q5",
    ),
    "property of Wikidata": (
        "wikidata__search", {"search": [{"id": "P31", "label": "Rye", "description": "d"}]},
        "https://www.wikidata.org/entity/P31",
    ),
    "post": ("x__twitter_search", {"data": [{"id": "1234567890123456", "title": "Rye", "text": "t"}]},
        "https://x.com/i/web/status/1234567890123456"),
    "place by its data id": ("x__web_search", {"local_results": [{"title": "Oven", "address": "1 Lane",
        "data_cid": "12345"}]}, "https://maps.google.com/?cid=12345"),
    "DOI": ("x__search_papers", paper(doi="10.1000/a(1)<2>"), "https://doi.org/10.1000/a(1)%3C2%3E"),
    "DOI as a number": ("plos__search", {"response": {"docs": [{"id": "10.1000/a", "title_display": "Rye",
        "abstract": ["a"]}]}}, "https://doi.org/10.1000/a"),
    "DOI in a list": ("x__scholar_search", paper(articleids=[{"idtype": "doi", "value": "10.1000/a"}]),
        "https://doi.org/10.1000/a"),
    "Europe PMC": (
        "europepmc__search",
        {"resultList": {"result": [{"id": "7", "source": "MED", "pmid": "7", "title": "Rye", "pubYear": "2026"}]}},
        "https://pubmed.ncbi.nlm.nih.gov/7/",
    ),
    "PMCID": ("x__scholar_search", paper(pmcid="PMC7"), "https://pmc.ncbi.nlm.nih.gov/articles/PMC7/"),
    "PMID of PubMed": ("pubmed__search", {"articles": [{"PMID": 7, "title": "Rye", "doi": "10.1000/a"}]},
        "https://pubmed.ncbi.nlm.nih.gov/7/"),
    "arXiv": ("x__search_papers", paper(externalIds={"ArXiv": "2601.00001v2"}),
        "https://arxiv.org/abs/2601.00001v2"),
    "arXiv's own": ("arxiv__search_papers", paper(id="cs/0101001"), "https://arxiv.org/abs/cs/0101001"),
    "OpenAlex": ("x__search_works", paper(id="W7123", authorships=[]), "https://openalex.org/W7123"),
    "Semantic Scholar": ("x__search_papers", paper(paperId="a1" * 20),
        f"https://www.semanticscholar.org/paper/{'a1' * 20}"),
    "Scholar": (
        "serpapi__google_scholar_search",
        {"organic_results": [{"title": "Rye", "inline_links": {"versions": {"cluster_id": "12345"}}}]},
        "https://scholar.google.com/scholar?cluster=12345",
    ),
    "patent": ("x__patent_search", {"organic_results": [{"title": "Rye", "patent_id": "patent/US1A/en"}]},
        "https://patents.google.com/patent/US1A/en"),
    "trial": ("x__trial_search", paper(nctId="NCT00000001", **RYE), "https://clinicaltrials.gov/study/NCT00000001"),
    "person": ("x__search_people", {"results": [{"name": "Rye", "summary": "s", "orcid": "0000-0001-0002-000X"}]},
        "https://orcid.org/0000-0001-0002-000X"),
    "book": ("x__search_books", {"docs": [{"title": "Rye", "isbn": ["9780000000002"]}]},
        "https://openlibrary.org/isbn/9780000000002"),
    "book by its key": ("x__search_books", {"docs": [{"key": "/works/OL1W", "title": "Rye"}]},
        "https://openlibrary.org/works/OL1W"),
    "video": ("y__youtube_search", {"items": [{"id": {"videoId": "abc-efghijk"}, "snippet": TUBE}]},
        "https://www.youtube.com/watch?v=abc-efghijk"),
    "channel": ("y__youtube_search", {"items": [{"id": {"channelId": f"UC{'x' * 22}"}, "snippet": TUBE}]},
        f"https://www.youtube.com/channel/UC{'x' * 22}"),
    "playlist": ("y__youtube_search", {"items": [{"id": {"playlistId": "PLabc"}, "snippet": TUBE}]},
        "https://www.youtube.com/playlist?list=PLabc"),
    "Hacker News": ("hn__search", {"hits": [{"objectID": "43", "title": "Rye", "url": None, "story_text": "t"}]},
        "https://news.ycombinator.com/item?id=43"),
    "Stack Overflow": ("x__search_stackoverflow", {"items": [{"question_id": 5, "title": "Rye", "body": "b"}]},
        "https://stackoverflow.com/questions/5"),
    "Reddit": (
        "x__reddit_search",
        {"data": {"children": [{"kind": "t3", "data": {**RYE, "permalink": "/r/bread/comments/a1/rye/"}}]}},
        "https://www.reddit.com/r/bread/comments/a1/rye/",
    ),
    "Bluesky": ("bsky__search_posts", {"posts": [{"uri": "at://did:plc:a/app.bsky.feed.post/3k",
        "record": {"text": "t"}}]}, "https://bsky.app/profile/did:plc:a/post/3k"),
    "film": ("x__search_films", {"Search": [{"Title": "Rye", "imdbID": "tt0000001"}]},
        "https://www.imdb.com/title/tt0000001/"),
    "beside another's mark": ("x__search_papers", paper(doi="10.1000/a", __derived__=B), "https://doi.org/10.1000/a"),
    "place": ("x__search_places", {"places": [{"name": "Oven", "place_id": "ChIJoven1234"}]}, MAPS),
    "place by its customer id": ("x__maps_search", {"places": [{"title": "Oven", "cid": "12345"}]},
        "https://maps.google.com/?cid=12345"),
    "place on the open map": ("x__search_places", [{"display_name": "Oven", "osm_type": "node", "osm_id": 7}],
        "https://www.openstreetmap.org/node/7"),
}  # fmt: skip


def observe(context: ObserverContext, result: ToolResult) -> list[dict[str, Any]]:
    outcome = SearchResults().observe(result, context)
    return [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]


@pytest.mark.parametrize("name", DERIVED)
def test_an_identifier_becomes_an_address(name: str, context: ObserverContext, result: Make) -> None:
    tool, payload, url = DERIVED[name]
    (artifact,) = observe(context, result(f"mcp__{tool}", json.dumps(payload)))
    row = artifact["results"][0]
    assert row["url"] == url
    assert row.get("derived") is (None if name == "item of Wikidata" else True)
    title = "Oven" if "place" in name else "Bake" if tool.startswith("y__") else "Rye"
    assert row["title"] == (None if name == "Bluesky" else title)


@pytest.mark.parametrize(
    ("tool", "arguments", "url"),
    [
        ("wikipedia__search", {"language": "de"}, "https://de.wikipedia.org/?curid=7"),
        ("wikipedia_it__search", {}, "https://it.wikipedia.org/?curid=7"),
        ("wikipedia__search", {"language": "pt-BR"}, "https://pt.wikipedia.org/?curid=7"),
        ("x__search_de_wikipedia", {}, "https://de.wikipedia.org/?curid=7"),
        ("wikipedia__search_by_id", {}, f"{WIKI}/?curid=7"),
        ("x__wikipedia_search_in_it", {}, f"{WIKI}/?curid=7"),
        ("wikipedia_it_fr__search", {}, None),
        ("wikipedia__search", {"language": "Klingon"}, None),
        ("wikipedia__search", {"language": "all"}, None),
        ("wikipedia__search", {"language": "eng"}, None),
        ("wikipedia__search", {"language": "zh-yue"}, None),
        ("wikipedia__search_wikidata", {}, None),
        ("mediawiki__search", {}, None),
    ],
)
def test_a_wiki_is_not_guessed(
    tool: str, arguments: dict[str, str], url: str | None, context: ObserverContext, result: Make
) -> None:
    (artifact,) = observe(context, result(f"mcp__{tool}", json.dumps(wiki(pageid=7)), **arguments))
    assert [(row["title"], row["url"]) for row in artifact["results"]] == [("Rye", url)]


@pytest.mark.parametrize(
    ("tool", "arguments", "fields"),
    [
        ("x__twitter_search", {}, {"id": "1234567890123456", "name": "Rye", "description": "Bakes."}),
        ("pubchem__web_search", {}, {"cid": 21_000}),
        ("x__news_search", {}, {"cluster_id": "12345"}),
        ("x__search_papers", {}, {"orcid": "0000-0001-0002-000X", "authors": ["Ash"]}),
        ("shop__search_products", {}, {"isbn13": "9780000000002"}),
        ("shop__search_books", {}, {"isbn13": "9780000000002", "price": "$4"}),
        ("google__search_books", {}, {"industryIdentifiers": [{"type": "ISBN_13", "identifier": "9780000000002"}]}),
        ("vimeo__search", {}, {"video_id": "showcase-42"}),
        ("x__search_stackoverflow", {"site": "serverfault"}, {"question_id": 5}),
    ],
)  # fmt: skip
def test_an_identifier_of_something_else_gives_no_address(
    tool: str, arguments: dict[str, str], fields: dict[str, Any], context: ObserverContext, result: Make
) -> None:
    row = (RYE if "name" not in fields else {}) | fields
    (artifact,) = observe(context, result(f"mcp__{tool}", json.dumps({"results": [row]}), **arguments))
    assert [(row["title"], row["url"]) for row in artifact["results"]] == [("Rye", None)]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("//one.example/a", A),
        ("https://one.example/a b", f"{A}%20b"),
        (f" {A}\n", A),
        ("www.one.example", "https://www.one.example"),
        ("one.example/a", None),
        ("//local", None),
        ("https://one example/a", None),
        ("//one.example/a https://two.example/b", None),
        ("https://one.example/a https://two.example/b", None),
    ],
)
def test_an_address_in_part_is_repaired(
    given: str, url: str | None, context: ObserverContext, result: Make
) -> None:
    rows = [RYE | {"url": given}, RYE | {"title": "Oats", "url": B}]
    (artifact,) = observe(context, result("mcp__x__web_search", json.dumps({"results": rows})))
    assert [row["url"] for row in artifact["results"]] == [url, B]


SHAPES: dict[str, tuple[str, Any, list[tuple[str | None, str | None]]]] = {
    "a plain list without addresses": (
        "wiki__search",
        {"pages": [RYE | {"id": 1}, RYE | {"title": "Oats"}]},
        [("Rye", None), ("Oats", None)],
    ),
    "sources that are addresses": (
        "x__web_search",
        {"results": [RYE | {"source": A}, RYE | {"title": "Oats", "source": "Daily"}]},
        [("Rye", A), ("Oats", None)],
    ),
    "a place with a text as its name": (
        "x__search_places",
        {"places": [{"name": "places/ChIJx", "displayName": {"text": "Oven"}, "websiteUri": A}]},
        [("Oven", A)],
    ),
    "documents under the names of a service": (
        "vertex__search",
        {
            "results": [
                {
                    "document": {
                        "name": "projects/1/documents/a",
                        "derivedStructData": {"title": "Rye", "link": A},
                    }
                }
            ]
        },
        [("Rye", A)],
    ),
    "ads of hotels with pictures": (
        "x__search_hotels",
        {
            "ads": [
                {"name": "Inn", "images": [f"{A}.png", f"{B}.png"], "rating": 4, "photoUrls": [f"{B}.png"]}
            ]
        },
        [("Inn", None)],
    ),
    "fields with their types": (
        "x__site_search",
        {"response": {"docs": [{"docid": "1", "title_s": ["Rye"], "uri_s": A, "abstract_txt": "a"}]}},
        [("Rye", A)],
    ),
    "links by device": (
        "x__search_pages",
        [{"title": "Rye", "extract": "e", "content_urls": {"desktop": {"page": A}, "mobile": {"page": B}}}],
        [("Rye", A)],
    ),
    "a text in the marks of HTML": (
        "blog__site_search",
        [{"link": A, "title": {"rendered": "Rye &#8211; a grass"}, "excerpt": {"rendered": "<p>e</p>"}}],
        [("Rye – a grass", A)],
    ),
    "a document beside its highlights": (
        "site__search",
        {"hits": [{"document": {"title": "Rye", "url": A}, "highlights": [{"snippet": "<mark>Rye</mark>"}]}]},
        [("Rye", A)],
    ),
    "a feed of entries": (
        "arxiv__search",
        {"feed": {"title": "q", "entry": [{"id": A, "title": "Rye", "summary": "s"}]}},
        [("Rye", A)],
    ),
    "a page with its own address": (
        "yacy__search",
        {
            "channels": [
                {"title": "Search", "link": B, "description": "d", "items": [{"title": "Rye", "link": A}]}
            ]
        },
        [("Rye", A)],
    ),
    "a list that only counts by itself": (
        "x__web_search",
        {"results": [RYE | {"url": A}], "data": [{"title": "Tip", "description": "Use quotes."}]},
        [("Rye", A)],
    ),
    "an entity beside the pages": (
        "bing__web_search",
        {
            "webPages": {"value": [RYE | {"url": A}]},
            "entities": {"value": [{"name": "Rye", "description": "d"}]},
        },
        [("Rye", A)],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rows_of_rarer_shapes(name: str, context: ObserverContext, result: Make) -> None:
    tool, payload, rows = SHAPES[name]
    (artifact,) = observe(context, result(f"mcp__{tool}", json.dumps(payload)))
    assert [(row["title"], row["url"]) for row in artifact["results"]] == rows


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("x__web_search", {"results": [{"title": "One", "id": "abc-efghijk", "note": "n"}]}),
        ("x__web_search", {"results": [{"title": "One", "id": 43, "points": 3}]}),
        ("x__search_questions_of_poll", {"items": [{"question_id": 5, "note": "Rye"}]}),
        ("x__web_search", {"results": [{"title": "Error", "message": "Too fast.", "code": 429}]}),
        ("x__search_suggest", {"suggestions": [RYE]}),
        ("x__search_hotels", {"data": {"name": "Inn", "link": A, "images": [{"thumbnail": f"{B}.png"}]}}),
        ("x__recent", {"results": [{"doi": "10.1000/a", "title": "Rye"}]}),
    ],
)
def test_what_is_no_result_gets_no_address(
    tool: str, payload: Any, context: ObserverContext, result: Make
) -> None:
    found = observe(context, result(f"mcp__{tool}", json.dumps(payload)))
    assert not any(artifact["results"] for artifact in found)


@pytest.mark.parametrize("tool", ["wikipedia__search", "x__search_papers", "x__search_places"])
def test_a_broken_identifier_gives_no_address(tool: str, context: ObserverContext, result: Make) -> None:
    text = (
        '{"results": [{"title": "Rye \\ud800", "snippet": "s", "doi": "10.1000/\\udfff",'
        ' "place_id": "ChIJ\\udc00234567"}],'
        ' "knowledge_graph": {"title": "\\udc00", "description": "\\ud800"}, "related_searches": ["\\ud800"]}'
    )
    (artifact,) = observe(context, result(f"mcp__{tool}", text))
    assert [(row["title"], row["url"]) for row in artifact["results"]] == [("Rye \ufffd", None)]
