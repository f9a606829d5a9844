-- Where the companies and people of the catalogue came from: `sample` data, or the user's `own`.
CREATE TABLE origins (
  origin {text} PRIMARY KEY,
  companies {int} NOT NULL,
  has_people {int} NOT NULL,
  imported_at {int}
){clustered};
