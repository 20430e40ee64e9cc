"""One module a page: from an address to what its template shows. They read the site and change nothing."""
